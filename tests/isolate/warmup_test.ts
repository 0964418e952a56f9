import { assert, assertEquals, assertThrows } from '@std/assert'
import { readHead, readHeaders } from '../../src/isolate/guest/http/head.ts'
import { sampleAppPath } from '../../src/isolate/warm/path_pattern.ts'
import { findHints, NO_HINTS, type RequestHints } from '../../src/isolate/hints/request_hints.ts'
import { planWarmup, type WarmupChoice } from '../../src/isolate/warm/warmup.ts'
import { CLIENTS } from '../../src/isolate/warm/warmup_clients.ts'
import { readFrame, REQUEST } from '../../src/isolate/wire/wire.ts'

/** A frame of a warm-up, taken apart. */
interface Planned {
  readonly count: number
  readonly handler: number
  readonly method: string
  /** Without the origin. */
  readonly path: string
  /** Parameters, what middleware left, state, session, what was validated. */
  readonly extras: readonly unknown[]
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

function plan(
  pattern: string,
  methods: readonly (string | null)[],
  warmup: WarmupChoice,
  hints?: RequestHints,
): Planned[] {
  const targets = methods.map((method, handler) => ({ method, handler }))
  return planWarmup('a.ts', pattern, targets, warmup, hints).map(({ frame, count }) => {
    const { header, body } = readFrame(frame, REQUEST)
    const read = readHead(new TextDecoder().decode(header))
    const [handler, method, url, , , , extras] = read.line
    const headers = readHeaders(read)
    assertEquals(headers.at(-1), ['x-mayfly-warmup', '1'])
    assertEquals(new Set(headers.map(([name]) => name)).size, headers.length, `${headers}`)
    return {
      count,
      handler: Number(handler),
      method,
      path: url.replace(/^https?:\/\/[^/]+/, ''),
      extras: extras === '' ? [] : JSON.parse(extras),
      headers: new Map(headers.map(([name, value]) => [name, value])),
      body: new TextDecoder().decode(body),
    }
  })
}

/** Each request once, with how often it runs for all clients together. */
function summary(planned: readonly Planned[]): unknown[] {
  const counts = new Map<string, number>()
  for (const { count, handler, method, path, extras, body } of planned) {
    const key = JSON.stringify([handler, method, path, extras[0] ?? null, body])
    counts.set(key, (counts.get(key) ?? 0) + count)
  }
  return [...counts].map(([key, count]) => [count, ...JSON.parse(key)])
}

Deno.test('planWarmup makes requests of the pattern, each client with values of its own', () => {
  const [latin, wide] = ['grüße warmup', 'warm up, grüße, 漢字 🐝'].map((id) => new URLSearchParams({ id }))
  assertEquals(summary(plan('/users/[id]', ['GET', 'POST'], 4)), [
    [1, 0, 'GET', '/users/927687', { id: '927687' }, ''],
    [1, 0, 'GET', '/users/warmup?id=927687', { id: 'warmup' }, ''],
    [1, 0, 'GET', `/users/9276870?${latin}`, { id: '9276870' }, ''],
    [1, 0, 'GET', `/users/warmup-4?${wide}`, { id: 'warmup-4' }, ''],
    [1, 1, 'POST', '/users/927687', { id: '927687' }, '{"id":"927687"}'],
    [1, 1, 'POST', '/users/warmup?id=927687', { id: 'warmup' }, '{"id":"warmup"}'],
    [1, 1, 'POST', `/users/9276870?${latin}`, { id: '9276870' }, '{"id":"9276870"}'],
    [1, 1, 'POST', `/users/warmup-4?${wide}`, { id: 'warmup-4' }, '{"id":"warmup-4"}'],
  ])
  const hints = { ...NO_HINTS, query: ['name', 'a&b'] }
  assertEquals(plan('/', ['GET'], 2, hints).map(({ path }) => path), ['/', '/?name=927687&a%26b=927687'])
  assertEquals(plan('/', ['GET'], 0), [])
})

Deno.test('what a warm-up brings can be told from what a user brings', () => {
  for (const { origin, headers, id, value = '' } of CLIENTS) {
    const sent = `${origin} ${headers.flat().join(' ')} ${id} ${value}`
    assert(/warm.?up|927687/.test(sent), sent)
  }
  assertEquals(new Set(CLIENTS.map(({ id }) => id)).size, CLIENTS.length)
})

Deno.test("planWarmup asks an app for its mount and for the routes that its source names, the count is all routes'", () => {
  const routes = [
    { method: 'GET', path: '/' },
    { method: 'GET', path: '/app/users/:id' },
    { method: 'POST', path: '/echo' },
    { method: null, path: '/files/*' },
  ]
  const planned = plan('/app', [null], 1000, { ...NO_HINTS, routes })
  const paths = planned.map(({ method, path, count }) => `${method} ${path.split('?')[0]} ${count}`)
  assertEquals(paths.filter((_, index) => index % CLIENTS.length === 0), [
    ...['GET /app 50', 'GET /app/users/927687 25', 'GET /app/users/2 25'],
    ...['POST /app/echo 50', 'GET /app/files/927687 25', 'GET /app/files/2 25'],
  ])
  assertEquals(
    planned.filter(({ method }) => method === 'POST').map(({ body }) => body)[0],
    '{"id":"927687"}',
  )
  const own = plan('/app', ['GET'], 4, { ...NO_HINTS, routes })
  assertEquals(own.map(({ path }) => path.split('?')[0]), ['/app', '/app', '/app', '/app'])
})

Deno.test('each client comes twice where the source tells of bodies or parameters, with other values', () => {
  const hints = findHints("const { note } = await ctx.get.json<{ note: string }>(); ctx.get.query('page')")
  const planned = plan('/a', ['POST'], 1000, hints)
  assertEquals(planned.length, 2 * CLIENTS.length)
  assertEquals(planned.map(({ count }) => count), new Array(2 * CLIENTS.length).fill(100))
  assertEquals(planned.slice(0, 3).map(({ path, body }) => `${path} ${body}`), [
    '/a {"note":"warmup"}',
    '/a?page=27 {"note":"Grüße warmup"}',
    '/a?page=6 {"note":"<b>927687</b> & \\"more\\""}',
  ])
  for (const { headers, body } of planned) {
    assertEquals(headers.get('content-type'), 'application/json')
    assertEquals(headers.get('content-length'), String(new TextEncoder().encode(body).length))
  }
  // A method without a body has none, whatever stands beside it.
  for (const { body } of plan('/a', ['GET'], 10, hints)) assertEquals(body, '')
})

Deno.test('sampleAppPath knows parameters of frameworks, with the mount or without', () => {
  const cases: [mount: string, route: string, path: string][] = [
    ['/', '/', '/'],
    ['/', '/a/:b', '/a/1'],
    ['/app', '/', '/app'],
    ['/app', '/app', '/app'],
    ['/app', '/application', '/app/application'],
    ['/app', '/app/x', '/app/x'],
    ['/[tenant]/app', '/x', '/1/app/x'],
    ['/app', '/u/:id{[0-9]+}/p/:page?', '/app/u/1/p/1'],
    ['/app', '/u/:id(\\d+)/*', '/app/u/1/1'],
    ['/app', '/a/**', '/app/a/1'],
  ]
  for (const [mount, route, path] of cases) {
    assertEquals(sampleAppPath(mount, route, '1'), path, `${mount} ${route}`)
  }
})

Deno.test('planWarmup runs the requests of the user as each client sends them', () => {
  const warmup = [
    { path: '/users/ann?x=1' },
    { path: '/users/bob' },
    { method: 'PUT', path: '/users/c', body: 'text' },
  ]
  assertEquals(summary(plan('/users/[id]', ['GET', 'PUT'], warmup)), [
    [500, 0, 'GET', '/users/ann?x=1', { id: 'ann' }, ''],
    [500, 0, 'GET', '/users/bob', { id: 'bob' }, ''],
    [1000, 1, 'PUT', '/users/c', { id: 'c' }, 'text'],
  ])
  assertEquals(summary(plan('/app', [null], [{ path: '/app/x/y', method: 'DELETE' }])), [
    [1000, 0, 'DELETE', '/app/x/y', null, ''],
  ])
  // As a server gives them: nothing in a path ends the line that holds it.
  assertEquals(plan('/[id]', ['GET'], [{ path: '/ä\tb c?d\n#e' }])[0].path, '/%C3%A4b%20c?d')
  for (const path of ['/user/a', '/users/a/b', '/users']) {
    assertThrows(
      () => plan('/users/[id]', ['GET'], [{ path }]),
      TypeError,
      `GET ${path} is none of its requests`,
    )
  }
  assertThrows(() => plan('/a', ['GET'], [{ path: '/a', method: 'POST' }]), TypeError, 'POST /a')
})

Deno.test('headers of an entry take the place of those of the clients; the body brings its own', () => {
  const [, , browser] = plan('/', ['POST'], [{
    method: 'POST',
    path: '/',
    headers: { Cookie: 'sid=7', Authorization: 'Bearer x', 'Content-Type': 'application/json' },
    body: 'no JSON',
  }])
  const { headers, body } = browser
  assertEquals(
    ['cookie', 'authorization', 'content-type', 'content-length', 'sec-fetch-mode'].map((name) =>
      headers.get(name)
    ),
    [
      'sid=7',
      'Bearer x',
      'application/json',
      '7',
      'navigate',
    ],
  )
  assertEquals(body, 'no JSON')
})

Deno.test('what middleware leaves for a handler can be given', () => {
  const state = { user: { id: 'warmup' } }
  const all = plan('/', ['GET'], [{ path: '/', state, session: { a: 1 }, validated: [2] }])
  for (const { extras } of all) assertEquals(extras.slice(2, 5), [state, { data: { a: 1 } }, { value: [2] }])
  const none = plan('/', ['GET'], [{ path: '/', session: null }])
  for (const { extras } of none) assertEquals(extras[3], { data: null })
})

Deno.test('of the requests of a handler each shape is tried out once, and four at most', () => {
  const tried = (warmup: WarmupChoice, methods: (string | null)[], hints?: RequestHints) => {
    const targets = methods.map((method, handler) => ({ method, handler }))
    return planWarmup('a.ts', '/a', targets, warmup, hints).map(({ tried }) => tried).filter((shape) =>
      shape !== null
    )
  }
  assertEquals(tried(1000, ['GET', 'POST']), ['GET /a', 'POST /a, application/json, body up to 1 KiB'])
  const post = { method: 'POST', path: '/a' }
  const requests = [{ path: '/a?b=1' }, post, { path: '/a?b=2' }, { path: '/a' }, {
    ...post,
    body: 'x'.repeat(2000),
  }]
  assertEquals(tried(requests, ['GET', 'POST']), [
    'GET /a?b',
    'GET /a',
    'POST /a',
    'POST /a, text/plain, body up to 16 KiB',
  ])
  const routes = ['/u/:id', '/v', '/w', '/x', '/y'].map((path) => ({ method: 'GET', path }))
  assertEquals(tried(1000, [null], { ...NO_HINTS, routes }), ['GET /a', 'GET /a/u/*', 'GET /a/v', 'GET /a/w'])
})
