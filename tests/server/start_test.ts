import { assert, assertEquals, assertMatch, assertRejects } from '@std/assert'
import { type ListenAddress, Router, StartupError } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { exchange, toRequest } from '../http/raw_client.ts'
import { addressOf, startChild } from './child.ts'

const ROUTES = fromFileUrl(new URL('./fixture/routes', import.meta.url))
const SERVE = { port: 0, hostname: '127.0.0.1' }

/** Starts a child that must refuse to start: code 1, one message, no stack of Mayfly's. */
async function refusal(config: object, env: Record<string, string> = {}, cwd?: string): Promise<string> {
  await using child = startChild(config, { env, cwd })
  assertEquals(await child.ended, 1, JSON.stringify(child.told))
  const text = child.stderr()
  assert(!child.told.some(({ kind }) => kind === 'server:listening'), 'it listened')
  assert(!/^\s+at .*\/src\//m.test(text), `the message has a stack of Mayfly's:\n${text}`)
  assertEquals(text.split('\n').filter((line) => line.includes('Error: ')).length, 1, text)
  return text
}

Deno.test('serve refuses a port in use, with a hint', async () => {
  using taken = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  const { port } = taken.addr
  const text = await refusal({ serve: { hostname: '127.0.0.1', port } })
  assertMatch(
    text,
    new RegExp(`StartupError: Cannot listen on 127\\.0\\.0\\.1:${port}: it is in use, want a free one`),
  )
})

for (const value of ['abc', '70000', '-1', '80.5', '0x50', ' ']) {
  Deno.test(`serve refuses PORT=${JSON.stringify(value)}`, async () => {
    const text = await refusal({}, { PORT: value })
    assertMatch(text, /Cannot serve: PORT is ".*", want an integer from 0 to 65535/)
  })
}

Deno.test('serve takes PORT', async () => {
  await using child = startChild({ serve: { hostname: '127.0.0.1' } }, { env: { PORT: '0' } })
  const [response] = await exchange(await addressOf(child), toRequest('GET /quick'))
  assertEquals(response.text, 'quick')
})

Deno.test('development listens to this machine alone, production to all, unless told', async () => {
  for (
    const [environment, hostname, wanted] of [
      ['development', undefined, '127.0.0.1'],
      ['production', undefined, '0.0.0.0'],
      ['development', '0.0.0.0', '0.0.0.0'],
    ] as const
  ) {
    await using child = startChild({ serve: { port: 0, hostname } }, { env: { DENO_ENV: environment } })
    assertEquals((await child.wait('server:listening')).hostname, wanted)
  }
})

Deno.test('serve refuses a folder of routes that is missing, with a hint', async () => {
  const text = await refusal({ serve: SERVE, router: { routesDir: './no_such_folder' } })
  assertMatch(text, /StartupError: .*no_such_folder.*(create|routesDir)/s)
})

Deno.test('serve refuses a folder of views that is missing, with a hint', async () => {
  const text = await refusal({ serve: SERVE, router: { viewsDir: './no_such_views' } })
  assertMatch(text, /StartupError: .*viewsDir.*no_such_views|StartupError: .*no_such_views.*viewsDir/s)
})

Deno.test('serve refuses a file where a folder of routes is wanted', async () => {
  const file = fromFileUrl(import.meta.url)
  const text = await refusal({ serve: SERVE, router: { routesDir: file } })
  assertMatch(text, /StartupError: .*start_test\.ts.*is a file/s)
})

/** A folder with files of these names, each a route. */
async function withRoutes(names: string[], run: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir()
  try {
    for (const name of names) {
      await Deno.mkdir(`${dir}/${name}`.slice(0, `${dir}/${name}`.lastIndexOf('/')), { recursive: true })
      await Deno.writeTextFile(`${dir}/${name}`, 'export const GET = (ctx) => ctx.send.text("")\n')
    }
    await run(dir)
  } finally {
    await Deno.remove(dir, { recursive: true })
  }
}

const CLASHES: readonly (readonly [string[], RegExp])[] = [
  [['users.js', 'users/index.js'], /users\/index\.js.*users\.js/s],
  [['[a].js', '[b].js'], /\[a\]\.js.*\[b\]\.js/s],
  [['(x)/page.js', '(y)/page.js'], /\(x\)\/page\.js.*\(y\)\/page\.js/s],
  [
    ['opt/index.js', 'opt/[[id]].js'],
    /opt\/\[\[id\]\]\.js.*opt\/index\.js|opt\/index\.js.*opt\/\[\[id\]\]\.js/s,
  ],
]
for (const [names, pattern] of CLASHES) {
  Deno.test(`serve refuses ${names.join(' beside ')} and names both`, async () => {
    await withRoutes(names, async (routesDir) => {
      const text = await refusal({ serve: SERVE, router: { routesDir } })
      assertMatch(text, /StartupError: /)
      assertMatch(text, pattern)
      assertMatch(text, /remove or rename/)
    })
  })
}

Deno.test('serve refuses malformed names, all in one message', async () => {
  await withRoutes(['[.js', '[...a]/b.js', '[x]/[x].js'], async (routesDir) => {
    const text = await refusal({ serve: SERVE, router: { routesDir } })
    assertMatch(text, /3 problems.*\[\.\.\.a\]\/b\.js.*\[\.js.*\[x\]\/\[x\]\.js/s)
  })
})

Deno.test('bad options are named in one message, with a hint', async () => {
  await using child = startChild({ router: { maxBodyByte: 1, drainMs: '5', maxUrlLength: 0 } })
  assertEquals(await child.ended, 1)
  const text = child.stderr()
  assertMatch(text, /maxBodyByte is no option, did you mean maxBodyBytes/)
  assertMatch(text, /drainMs is "5", want an integer/)
  assertMatch(text, /maxUrlLength is 0, want an integer of at least 1/)
})

Deno.test('a bad port, path or certificate is refused', async () => {
  const router = new Router({ routesDir: ROUTES, hotReload: false })
  const rows: [object, RegExp][] = [
    [{ port: 70_000 }, /port is 70000, want an integer from 0 to 65535/],
    [{ port: 1.5 }, /port is 1\.5/],
    [{ port: '80' }, /port is "80"/],
    [{ port: 80, path: 'x.sock' }, /path and port are both given/],
    [{ port: 0, cert: 'x' }, /key is missing|cert is no PEM/],
    [{ port: 0, key: 'x' }, /cert is missing/],
    [{ port: 0, cert: 'x', key: 'y' }, /cert is no PEM text/],
  ]
  for (const [options, pattern] of rows) {
    const error = await assertRejects(() => router.serve(options as { port: number }), Error)
    assertMatch(error.message, pattern)
  }
})

Deno.test('an address that is not of this machine is refused', async () => {
  const router = new Router({ routesDir: ROUTES, hotReload: false })
  await assertRejects(() => router.serve({ port: 0, hostname: '203.0.113.1' }), StartupError, '203.0.113.1:0')
})

Deno.test('serve tells the bound port, stops by its signal and can serve again', async () => {
  const router = new Router({ routesDir: ROUTES, hotReload: false })
  const told: string[] = []
  router.on('server:*', ({ kind, metadata }) => void told.push(`${kind} ${metadata.port}`))
  const ports: number[] = []
  for (let round = 0; round < 2; round++) {
    const stop = new AbortController()
    const listening = Promise.withResolvers<ListenAddress>()
    const served = router.serve({ ...SERVE, signal: stop.signal, onListen: listening.resolve })
    const address = await listening.promise
    ports.push(address.port)
    assert(address.port > 0)
    const [response] = await exchange(address, toRequest('GET /quick'))
    assertEquals(response.text, 'quick')
    stop.abort()
    await served
  }
  assertEquals(told, ports.flatMap((port) => [`server:listening ${port}`, `server:shutdown ${port}`]))
})

Deno.test('serve with a signal that is aborted already does nothing', async () => {
  const router = new Router({ routesDir: ROUTES, hotReload: false })
  router.on('server:*', ({ kind }) => {
    throw new Error(`${kind} was told`)
  })
  await router.serve({ ...SERVE, signal: AbortSignal.abort() })
})

Deno.test('serve that fails can be tried again', async () => {
  const dir = await Deno.makeTempDir()
  try {
    const router = new Router({ routesDir: `${dir}/routes`, hotReload: false })
    await assertRejects(() => router.serve(SERVE), StartupError, 'routes')
    await Deno.mkdir(`${dir}/routes`)
    await Deno.writeTextFile(`${dir}/routes/a.js`, 'export const GET = (ctx) => ctx.send.text("mended")\n')
    const stop = new AbortController()
    const listening = Promise.withResolvers<ListenAddress>()
    const served = router.serve({ ...SERVE, signal: stop.signal, onListen: listening.resolve })
    const [response] = await exchange(await listening.promise, toRequest('GET /a'))
    assertEquals(response.text, 'mended')
    stop.abort()
    await served
  } finally {
    await Deno.remove(dir, { recursive: true })
  }
})

Deno.test('deno serve takes the default export', async () => {
  await using child = startChild({}, {
    command: ['serve', '--host', '127.0.0.1', '--port', '0'],
    script: new URL('./fixture/default_export.ts', import.meta.url),
    args: [],
  })
  const port = await listeningPort(child)
  const [response] = await exchange({ hostname: '127.0.0.1', port }, toRequest('GET /quick'))
  assertEquals(response.text, 'quick')
  const [missing] = await exchange({ hostname: '127.0.0.1', port }, toRequest('GET /nowhere'))
  assertEquals(missing.status, 404)
})

/** The port that `deno serve` tells of on either stream. */
async function listeningPort(child: ReturnType<typeof startChild>): Promise<number> {
  for (let waited = 0; waited < 10_000; waited += 20) {
    const text = child.stderr() + child.told.map(({ line }) => line).join('\n')
    const match = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text)
    if (match !== null) return Number(match[1])
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`Cannot find the port: ${child.stderr()}`)
}
