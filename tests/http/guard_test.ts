import { assert, assertEquals, assertThrows } from '@std/assert'
import { type Middleware, Router } from '@mayfly/mayfly'
import { type Case, testCases, testSite } from './cases.ts'
import { connect, exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

const guard: Middleware = (ctx, next) => {
  if (ctx.get.header('x-key') === 'right') return next()
  return ctx.send.text('guarded', { status: 401 })
}

/** The spellings of one guard. */
const SPELLINGS = ['/admin', '/admin/', '/admin/*', '/admin/**', '/%61dmin']
const sites = SPELLINGS.map((path) => ({
  path,
  site: defineSite({ setup: (router) => router.use(path, guard) }),
}))

const GUARDED = [
  '/admin',
  '/admin/',
  '/admin?x=1',
  '/admin/users',
  '/admin/users/',
  '/admin/anything/below',
  '//admin',
  '//admin//users',
  '/admin//',
  '/admin//users',
  '/./admin',
  '/x/../admin',
  '/x/%2e%2e/admin/users',
  '/admin/.',
  '/admin/./users',
  '/admin/x/..',
  '/admin/x/../users',
  '/%61dmin',
  '/%61%64%6d%69%6e/users',
  '/admi%6E/users',
  '/admin/%75sers',
  '/admin/..%2f..',
  '/admin\\users',
  '/\\admin/users',
  '/\\x/../admin',
  '/admin/%2e%2e%2fmethods',
]

const FREE: readonly (readonly [string, number])[] = [
  ['/administrator', 200],
  ['/ADMIN', 200],
  ['/Admin', 404],
  ['/admin/..', 200],
  ['/admin/../methods', 200],
  ['/users/admin', 200],
  ['/admin%2Fusers', 404],
  ['/admin%20', 404],
  ['/admin%00', 404],
  ['/admin;x=1', 404],
  ['/%2561dmin', 404],
  ['/admin.', 404],
  ['\\admin', 400],
]

for (const { path, site } of sites) {
  testCases(`use('${path}')`, site, [
    ...GUARDED.map((target): Case => ({
      name: `${target} is guarded`,
      request: `GET ${target}`,
      status: 401,
      text: 'guarded',
    })),
    ...FREE.map(([target, status]): Case => ({
      name: `${target} is not below it`,
      request: `GET ${target}`,
      status,
      text: /^(?!guarded)(?!.*"file":"admin\/)/s,
    })),
    { name: 'every method is guarded', request: 'POST /admin', status: 401 },
    { name: 'HEAD is guarded', request: 'HEAD /admin', status: 401 },
    { name: 'OPTIONS is guarded', request: 'OPTIONS /admin', status: 401 },
    { name: 'a method that the route lacks is guarded', request: 'PUT /admin', status: 401 },
    { name: 'a malformed escape below it shows nothing', request: 'GET /admin/%zz', status: 400 },
    { name: 'the key opens it', request: 'GET /admin/users', headers: { 'x-key': 'right' }, status: 200 },
    {
      name: 'an absolute target is guarded',
      raw: 'GET http://mayfly.test/admin/users HTTP/1.1\r\nHost: mayfly.test\r\nConnection: close\r\n\r\n',
      status: 401,
    },
    {
      name: 'a Host with a path in it is guarded by the path that is served',
      raw: 'GET /methods HTTP/1.1\r\nHost: mayfly.test/admin/users?\r\nConnection: close\r\n\r\n',
      status: 401,
    },
  ])
}

testSite('use(path): no spelling of a path reaches a guarded file', sites[0].site, async ({ address }) => {
  const random = mulberry32(0x6d61796f)
  let reached = 0
  const free: string[] = []
  for (let round = 0; round < 40; round++) {
    using connection = await connect(address)
    for (let i = 0; i < 50; i++) {
      const target = respell('/admin/users', random)
      await connection.write(toRequest(`GET ${target}`, { connection: 'keep-alive' }))
      const response = await connection.read()
      // A target that the HTTP parser itself refuses ends the connection.
      if (response === undefined) break
      assert(!response.text.includes('"file":"admin/'), `GET ${target} passed the guard`)
      if (response.status === 401) reached++
      else if (response.status === 200) free.push(target)
      if (response.headers.get('connection')?.[0] === 'close') break
    }
  }
  assert(reached > 200, `only ${reached} spellings met the guard`)
  assertEquals(free.filter((target) => /^[/\\]+admin([/\\]|$)/.test(target) && !/[.%]/.test(target)), [])
})

Deno.test('use refuses a path that could never match', () => {
  const router = new Router()
  for (const path of ['admin', '/a/*/b', '/:id', '/%zz', '/[...rest]']) {
    assertThrows(() => router.use(path, guard), TypeError, path)
  }
  assertThrows(() => router.use('/admin', 'x' as unknown as Middleware), TypeError, `"x"`)
})

const everywhere = defineSite({ setup: (router) => router.use(guard) })

testCases('use() without a path covers', everywhere, [
  { name: 'a route', request: 'GET /methods', status: 401 },
  { name: 'what is no route', request: 'GET /nowhere', status: 401 },
  { name: 'a malformed path', request: 'GET /%zz', status: 401 },
  { name: 'a path that is too long', request: `GET /${'a'.repeat(9000)}`, status: 401 },
  { name: 'OPTIONS', request: 'OPTIONS /methods', status: 401 },
])

testSite(
  'use() without a path: params are visible before next()',
  defineSite({
    setup: (router) =>
      router.use((ctx, next) => ctx.get.param('id') === '7' ? ctx.send.text('seven') : next()),
  }),
  async ({ address }) => {
    const [seven] = await exchange(address, toRequest('GET /users/7'))
    assertEquals(seven.text, 'seven')
    const [eight] = await exchange(address, toRequest('GET /users/8'))
    assertEquals(eight.status, 200)
  },
)

/** Another spelling of a path: letters escaped or raised, slashes doubled or turned, dot segments put in. */
function respell(path: string, random: () => number): string {
  const pick = (...choices: string[]) => choices[Math.floor(random() * choices.length)]
  let text = ''
  for (const char of path) {
    const dice = random()
    if (char === '/') {
      text += dice < 0.5
        ? '/'
        : pick('//', '\\', '/./', '/x/../', '/%2e/', '/x/%2E./', '%2f', '/\\', '/;/', '/.//')
    } else if (dice < 0.75) text += char
    else if (dice < 0.9) text += `%${char.charCodeAt(0).toString(16)}`
    else if (dice < 0.95) text += char.toUpperCase()
    else text += pick('%25' + char.charCodeAt(0).toString(16), char + '%00', char + ';', char + '%20')
  }
  return text.startsWith('/') || text.startsWith('\\') ? text : `/${text}`
}

/** A seeded generator of numbers in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
