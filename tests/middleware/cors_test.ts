import { cors, HttpError } from '@mayfly/mayfly'
import { assertEquals } from '@std/assert'
import { answer, assertRefused, makeSite } from './site.ts'

const PAGE = 'https://page.example'

function from(origin: string, more: Record<string, string> = {}): RequestInit {
  return { headers: { origin, ...more } }
}

function preflight(origin: string, method = 'PUT'): RequestInit {
  return { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method } }
}

Deno.test('cors allows everyone unless told, and still varies by origin', async () => {
  const { headers } = await makeSite([cors()]).ask('/', from(PAGE))
  assertEquals(headers.get('access-control-allow-origin'), '*')
  assertEquals(headers.get('access-control-allow-credentials'), null)
  assertEquals(headers.get('vary'), 'Origin')
})

Deno.test('cors varies by origin on a response to a request without one', async () => {
  const { headers } = await makeSite([cors({ origin: PAGE })]).ask('/')
  assertEquals(headers.get('vary'), 'Origin')
  assertEquals(headers.get('access-control-allow-origin'), null)
})

Deno.test('cors answers a preflight with 204 before the route would say 405', async () => {
  const { ask } = makeSite([cors({ origin: PAGE, methods: ['PUT'], allowedHeaders: ['X-A'], maxAge: 60 })])
  const response = await ask('/', preflight(PAGE))
  assertEquals(response.status, 204)
  assertEquals(Object.fromEntries(response.headers), {
    'access-control-allow-origin': PAGE,
    'access-control-allow-methods': 'PUT',
    'access-control-allow-headers': 'X-A',
    'access-control-max-age': '60',
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  })
})

Deno.test('cors answers a preflight for a path without a route', async () => {
  assertEquals((await makeSite([cors()]).ask('/nowhere', preflight(PAGE))).status, 204)
})

Deno.test('cors leaves an OPTIONS that is no preflight to the route', async () => {
  const response = await makeSite([cors()]).ask('/', { method: 'OPTIONS', headers: { origin: PAGE } })
  assertEquals(response.headers.get('allow'), 'GET, HEAD, OPTIONS, POST')
  assertEquals(response.headers.get('access-control-allow-origin'), '*')
})

Deno.test('cors gives a stranger no headers, not even in a preflight', async () => {
  const { ask, events } = makeSite([cors({ origin: PAGE, credentials: true })])
  const response = await ask('/', preflight('https://evil.example'))
  assertEquals(response.status, 204)
  assertEquals([...response.headers.keys()], ['vary'])
  const plain = await ask('/', from('https://evil.example'))
  assertEquals(plain.headers.get('access-control-allow-origin'), null)
  const blocked = events.filter(({ kind }) => kind === 'cors:blocked').map(({ metadata }) => ({
    ...metadata,
  }))
  assertEquals(blocked, [
    { reason: 'origin', origin: 'https://evil.example', preflight: true },
    { reason: 'origin', origin: 'https://evil.example', preflight: false },
  ])
})

for (
  const origin of [
    'https://page.example.evil.example',
    'https://evilpage.example',
    'http://page.example',
    'https://page.example:444',
    'https://PAGE.example',
    'null',
  ]
) {
  Deno.test(`cors does not take ${origin} for ${PAGE}`, async () => {
    const { headers } = await makeSite([cors({ origin: [PAGE], credentials: true })]).ask('/', from(origin))
    assertEquals(headers.get('access-control-allow-origin'), null)
    assertEquals(headers.get('access-control-allow-credentials'), null)
  })
}

Deno.test('cors names the origin, never *, beside credentials', async () => {
  const { ask } = makeSite([cors({ origin: [PAGE, 'https://two.example'], credentials: true })])
  const { headers } = await ask('/', from('https://two.example'))
  assertEquals(headers.get('access-control-allow-origin'), 'https://two.example')
  assertEquals(headers.get('access-control-allow-credentials'), 'true')
})

Deno.test('cors does not call the own origin blocked', async () => {
  const { ask, events } = makeSite([cors({ origin: PAGE })])
  await ask('/', from('http://localhost'))
  assertEquals(events.filter(({ kind }) => kind === 'cors:blocked'), [])
})

Deno.test('cors exposes headers on responses, not on preflights', async () => {
  const { ask } = makeSite([cors({ exposedHeaders: ['X-Total', 'X-Page'] })])
  assertEquals((await ask('/', from(PAGE))).headers.get('access-control-expose-headers'), 'X-Total, X-Page')
  assertEquals((await ask('/', preflight(PAGE))).headers.get('access-control-expose-headers'), null)
})

Deno.test('cors lets a function decide', async () => {
  const { ask } = makeSite([cors({ origin: (origin) => Promise.resolve(origin.endsWith('.example')) })])
  assertEquals((await ask('/', from(PAGE))).headers.get('access-control-allow-origin'), PAGE)
  assertEquals((await ask('/', from('https://a.test'))).headers.get('access-control-allow-origin'), null)
})

for (const path of ['/boom', '/nowhere']) {
  Deno.test(`cors puts its headers on the error page of ${path}`, async () => {
    const { headers } = await makeSite([cors({ origin: PAGE })]).ask(path, from(PAGE))
    assertEquals(headers.get('access-control-allow-origin'), PAGE)
    assertEquals(headers.get('vary')?.includes('Origin'), true)
  })
}

Deno.test('cors puts its headers on the refusal of a middleware inside it', async () => {
  const refuse = answer(() => {
    throw new HttpError(403)
  })
  const response = await makeSite([cors({ origin: PAGE }), refuse]).ask('/', from(PAGE))
  assertEquals([response.status, response.headers.get('access-control-allow-origin')], [403, PAGE])
})

Deno.test('cors keeps the Vary of the handler', async () => {
  const handler = answer((ctx) => ctx.send.text('x', { headers: { vary: 'Accept' } }))
  assertEquals((await makeSite([cors(), handler]).ask('/')).headers.get('vary'), 'Accept, Origin')
})

Deno.test('cors takes an origin with a slash or an upper-case host for what it means', async () => {
  const { ask } = makeSite([cors({ origin: 'https://Page.Example:443/' })])
  assertEquals((await ask('/', from(PAGE))).headers.get('access-control-allow-origin'), PAGE)
})

Deno.test('cors checks its options', () => {
  assertRefused(
    () => cors({ credentials: true }),
    TypeError,
    'origin is [ "*" ], want no "*" beside credentials',
  )
  assertRefused(() => cors({ origin: ['*'], credentials: true }), TypeError, 'origin')
  assertRefused(
    () => cors({ origin: PAGE, allowedHeaders: ['*'], credentials: true }),
    TypeError,
    'allowedHeaders',
  )
  assertRefused(
    () => cors({ origin: `${PAGE}/path` }),
    TypeError,
    'origin is "https://page.example/path", want',
  )
  assertRefused(() => cors({ origin: 'https://*.example' }), TypeError, 'origin')
  assertRefused(() => cors({ origin: 'null' }), TypeError, 'origin')
  assertRefused(() => cors({ maxAge: -1 }), RangeError, 'maxAge is -1')
  assertRefused(() => cors({ methods: ['GET, PUT'] }), TypeError, 'methods')
  assertRefused(() => cors({ exposedHeaders: 'X-A' as never }), TypeError, 'exposedHeaders is "X-A"')
})
