import { assertEquals, assertMatch } from '@std/assert'
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { testCases, testSite } from './cases.ts'
import { log } from './fixture/log.ts'
import { exchange, toRequest } from './raw_client.ts'
import { defineSite, fixture } from './site.ts'

const broken: LifecycleEvent<'route:error'>[] = []
const site = defineSite({
  setup: (router) => void router.on('route:error', (event) => void broken.push(event)),
})
const JSON_ACCEPT = { accept: 'application/json' }

testCases('a Hono app', site, [
  { name: 'answers at its pattern', request: 'GET /mount/hono', status: 200, text: 'hono root' },
  {
    name: 'answers below it, with its own params',
    request: 'GET /mount/hono/users/7?q=x',
    status: 200,
    json: { id: '7', q: 'x' },
  },
  { name: 'reads bodies', request: 'POST /mount/hono/echo', body: 'abc', status: 201, text: 'abc' },
  {
    name: 'answers 404 itself',
    request: 'GET /mount/hono/nowhere',
    status: 404,
    text: 'hono knows nothing of it',
  },
  { name: 'answers any method', request: 'BREW /mount/hono', status: 404, text: 'hono knows nothing of it' },
  {
    name: 'answers its errors itself',
    request: 'GET /mount/hono/throw',
    status: 500,
    text: 'hono caught it',
  },
  { name: 'answers HEAD', request: 'HEAD /mount/hono', status: 200, text: '' },
  { name: 'does not answer beside its pattern', request: 'GET /mount/honor', status: 404, text: /Not Found/ },
])

testCases('an app with fetch', site, [
  {
    name: 'sees the whole path',
    request: 'PATCH /mount/at/acme/deep/path',
    status: 200,
    json: { method: 'PATCH', pathname: '/mount/at/acme/deep/path' },
  },
  { name: 'sees OPTIONS', request: 'OPTIONS /mount/at/acme', status: 200, text: /OPTIONS/ },
  {
    name: 'leaves exported methods to them',
    request: 'PUT /mount/at/acme',
    status: 200,
    json: { put: 'acme' },
  },
  { name: 'that rejects is 500', request: 'GET /mount/broken_app', status: 500, text: /^(?!.*SECRET)/s },
  { name: 'that gives nothing is 500', request: 'GET /mount/broken_app/nothing', status: 500 },
])

testCases('an isolated route', site, [
  {
    name: 'is 503 without a virtual machine',
    request: 'GET /isolated',
    headers: JSON_ACCEPT,
    status: 503,
    has: { 'content-type': 'application/problem+json', 'retry-after': /^\d+$/ },
    text: /"type":"isolation-unavailable"/,
  },
  {
    name: 'is a page for a browser',
    request: 'GET /isolated',
    status: 503,
    has: { 'content-type': /^text\/html/ },
  },
  {
    name: 'has its methods all the same',
    request: 'POST /isolated',
    status: 405,
    has: { allow: 'GET, HEAD, OPTIONS' },
  },
  {
    name: 'that says isolated = false runs in the host',
    request: 'GET /isolated/not',
    status: 200,
    text: 'in the host',
  },
])

testSite('an isolated route is never run in the host', site, async ({ address }) => {
  await exchange(address, toRequest('GET /isolated'))
  assertEquals(log.filter((entry) => entry.includes('isolated')), [])
})

testCases('a broken route', site, [
  { name: 'is 500', request: 'GET /broken', status: 500, text: /^(?!.*SECRET)/s },
  { name: 'is 500 for every method', request: 'DELETE /broken', status: 500 },
  { name: 'with a GET that is no function is 500', request: 'GET /no_function', status: 500 },
  { name: 'leaves the others alone', request: 'GET /users/7', status: 200 },
])

testSite('a broken route tells route:error file, line and cause', site, async () => {
  await site()
  const told = broken.map(({ metadata }) => metadata)
  const names = told.map(({ file }) => file.slice(file.lastIndexOf('routes/')))
  assertEquals(names, ['routes/broken.ts', 'routes/no_function.ts'])
  assertEquals(told.map(({ pattern }) => pattern), ['/broken', '/no_function'])
  assertMatch((told[0].error as Error).message, /SECRET at the top level.*broken\.ts:3:/)
  assertMatch(
    (told[1].error as Error).message,
    /its export GET is a value of type string, wanted a function.*no_function\.ts:1:/,
  )
})

testSite('routes() lists method, pattern, file and isolation, sorted', site, async ({ router }) => {
  await Promise.resolve()
  const rows = router.routes()
  const under = rows.filter(({ pattern }) => /^\/(isolated|mount\/at|broken)/.test(pattern))
  assertEquals(
    under.map(({ method, pattern, isolated }) => `${method} ${pattern}${isolated ? ' isolated' : ''}`),
    [
      '* /broken',
      'GET /isolated isolated',
      'GET /isolated/not',
      '* /mount/at/[tenant]',
      'PUT /mount/at/[tenant]',
    ],
  )
  const order = rows.map(({ pattern, method }) => `${pattern} ${method}`)
  assertEquals(order, [...order].sort((a, b) => a < b ? -1 : 1))
})

Deno.test('the default export of a router serves without a socket', async () => {
  await using router = new Router({ routesDir: fixture('routes'), hotReload: false })
  router.on('route:error', () => {})
  const { fetch } = router
  const [first, second] = await Promise.all([
    fetch(new Request('http://mayfly.test/users/7')),
    fetch(new Request('http://mayfly.test/ip')),
  ])
  assertEquals(await first.json(), { file: 'users/[id].ts', params: { id: '7' } })
  assertEquals(await second.json(), [null, null])
})
