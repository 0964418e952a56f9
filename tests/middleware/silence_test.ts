import {
  basicAuth,
  bearerAuth,
  bodyLimit,
  cors,
  csrf,
  ip,
  type Middleware,
  Router,
  session,
  type StandardSchema,
  validate,
  websocket,
} from '@mayfly/mayfly'
import { assert, assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { SECRET, statusOf } from './site.ts'

const never: StandardSchema = {
  '~standard': { version: 1, vendor: 'hand', validate: () => ({ issues: [{ message: 'no' }] }) },
}

const REFUSALS: Record<string, [middleware: Middleware, init: RequestInit, status: number]> = {
  basicAuth: [basicAuth({ users: [{ username: 'a', password: 'b' }] }), {}, 401],
  bearerAuth: [bearerAuth({ tokens: ['a'] }), {}, 401],
  bodyLimit: [
    bodyLimit({ limit: 1 }),
    { method: 'POST', headers: { 'content-length': '3' }, body: '123' },
    413,
  ],
  cors: [cors({ origin: 'https://a.example' }), { headers: { origin: 'https://b.example' } }, 200],
  csrf: [
    csrf({ cookieSecret: SECRET, origin: () => Promise.reject(new Error('down')) }),
    { method: 'POST', headers: { origin: 'https://b.example' } },
    403,
  ],
  ip: [ip({ blacklist: ['*'] }), {}, 403],
  session: [session({ cookieSecret: SECRET }), { headers: { cookie: 'session=x.y' } }, 200],
  validate: [validate({ query: never }), {}, 422],
  websocket: [websocket(), {}, 426],
}

for (const [name, [middleware, init, status]] of Object.entries(REFUSALS)) {
  Deno.test(`${name} answers ${status} when nobody listens`, async () => {
    const routesDir = fromFileUrl(new URL('./fixture/routes', import.meta.url))
    const router = new Router({ routesDir, hotReload: false }).use(middleware)
    assertEquals(await statusOf(router.fetch(new Request('http://localhost/', init))), status)
  })
}

Deno.test('no middleware emits an event before it asked whether anybody wants it', async () => {
  const folder = new URL('../../src/middleware/', import.meta.url)
  let seen = 0
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith('.ts')) continue
    const lines = (await Deno.readTextFile(new URL(name, folder))).split('\n')
    lines.forEach((line, index) => {
      if (!line.includes('emitEvent(ctx')) return
      seen++
      assert(
        lines.slice(Math.max(0, index - 1), index + 1).some((near) => near.includes('wantsEvent(ctx')),
        `${name}:${index + 1}`,
      )
    })
  }
  assert(seen >= 9, `saw ${seen} events`)
})
