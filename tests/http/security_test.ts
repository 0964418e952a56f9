import { assert, assertEquals, assertMatch, assertNotEquals } from '@std/assert'
import type { LifecycleEvent } from '@mayfly/mayfly'
import { cors, csrf, session } from '../../src/middleware/mod.ts'
import { testCases, testSite } from './cases.ts'
import { exchange, type RawResponse, toRequest } from './raw_client.ts'
import { defineSite, type Site } from './site.ts'

const cookieSecret = 'a secret of the tests with more than 32 characters'

const events: LifecycleEvent[] = []
const sessions = defineSite({
  setup: (router) => {
    router.use('/guarded', session({ cookieSecret }))
    router.on('session:invalid', (event) => void events.push(event))
  },
})

/** The `name=value` of the cookies that a response sets. */
function cookiesOf(response: RawResponse): string[] {
  return (response.headers.get('set-cookie') ?? []).map((line) => line.split(';')[0])
}

async function ask(
  { address }: Site,
  line: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<RawResponse> {
  const [response] = await exchange(address, toRequest(line, headers, body))
  return response
}

testSite('session: lives in a signed cookie from request to request', sessions, async (site) => {
  const none = await ask(site, 'GET /guarded/count')
  assertEquals([none.text, none.headers.has('set-cookie')], ['null', false])
  const first = await ask(site, 'POST /guarded/count')
  assertMatch(
    first.headers.get('set-cookie')![0],
    /^session=[\w-]+\.[\w-]+; Secure; HttpOnly; .*SameSite=Lax; Path=\/$/,
  )
  const [cookie] = cookiesOf(first)
  const second = await ask(site, 'POST /guarded/count', { cookie })
  assertEquals(second.text, '{"count":2}')
  const again = await ask(site, 'GET /guarded/count', { cookie: cookiesOf(second)[0] })
  assertEquals(again.text, '{"count":2}')
  const ended = await ask(site, 'DELETE /guarded/count', { cookie })
  assertMatch(ended.headers.get('set-cookie')![0], /^session=;.*(Max-Age=0|Expires=Thu, 01 Jan 1970)/)
})

testSite('session: no change to the cookie is accepted', sessions, async (site) => {
  const [cookie] = cookiesOf(await ask(site, 'POST /guarded/count'))
  const value = cookie.slice('session='.length)
  const [payload, signature] = value.split('.')
  const [other] = cookiesOf(await ask(site, 'POST /guarded/count', { cookie }))
  const forged = [
    '',
    '.',
    payload,
    `${payload}.`,
    `.${signature}`,
    `${payload}.${signature}.${signature}`,
    `${payload}x.${signature}`,
    `${payload}.${signature.slice(0, -2)}`,
    `${other.slice('session='.length).split('.')[0]}.${signature}`,
    `${btoa('a.9999999999.{"count":99}').replaceAll('=', '')}.${signature}`,
    `${payload}.${'A'.repeat(43)}`,
    '%00',
    'a'.repeat(4000),
    ...Array.from(
      { length: value.length },
      (_, at) => value.slice(0, at) + flip(value[at]) + value.slice(at + 1),
    ),
  ]
  for (const text of forged) {
    const response = await ask(site, 'GET /guarded/count', { cookie: `session=${text}` })
    assertEquals([response.status, response.text], [200, 'null'], `session=${text}`)
  }
  const [whole] = await exchange(site.address, toRequest('GET /guarded/count', { cookie }))
  assertEquals(whole.text, '{"count":1}')
})

testSite('session: a tampered cookie is deleted and tells session:invalid', sessions, async (site) => {
  events.length = 0
  const response = await ask(site, 'GET /guarded/count', { cookie: 'session=abc.def' })
  assertMatch(response.headers.get('set-cookie')?.[0] ?? '(none)', /^session=;/)
  assertEquals(events.map(({ kind }) => kind), ['session:invalid'])
})

testSite('session: what is not below the guard has none', sessions, async (site) => {
  const response = await ask(site, 'GET /methods')
  assertEquals([response.status, response.headers.has('set-cookie')], [200, false])
})

testSite('ctx.get.session without the middleware says what is missing', defineSite(), async (site) => {
  const response = await ask(site, 'GET /guarded/count')
  assertEquals(response.status, 500)
  assertMatch(String(site.errors[0]), /no session middleware on this route, want router\.use\(session\(\)\)/)
})

const forms = defineSite({ setup: (router) => router.use('/guarded', csrf({ cookieSecret })) })
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const OWN = { ...FORM, origin: 'http://mayfly.test' }

testSite('csrf: a form with the token of its page passes, any other is 403', forms, async (site) => {
  const page = await ask(site, 'GET /guarded/form')
  const token = page.text
  const [cookie] = cookiesOf(page)
  const body = `name=ann&_csrf=${token}`
  const good = await ask(site, 'POST /guarded/form', { ...OWN, cookie }, body)
  assertEquals([good.status, good.text], [200, 'accepted ann'])
  const byFetch = await ask(
    site,
    'POST /guarded/form',
    { ...FORM, 'sec-fetch-site': 'same-origin', cookie },
    body,
  )
  assertEquals(byFetch.status, 200)
  const byHeader = await ask(
    site,
    'POST /guarded/form',
    { ...OWN, cookie, 'x-csrf-token': token },
    'name=ann',
  )
  assertEquals(byHeader.status, 200)
  const bad: [string, Record<string, string>, string][] = [
    ['no token', { ...OWN, cookie }, 'name=ann'],
    ['an empty token', { ...OWN, cookie }, 'name=ann&_csrf='],
    ['another token', { ...OWN, cookie }, `name=ann&_csrf=${flip(token[0])}${token.slice(1)}`],
    ['no cookie', OWN, body],
    ['another cookie', { ...OWN, cookie: 'csrf=AAAAAAAAAAAAAAAAAAAAAA' }, body],
    ['another origin', { ...FORM, origin: 'http://evil.test', cookie }, body],
    ['origin null', { ...FORM, origin: 'null', cookie }, body],
    ['another port', { ...FORM, origin: 'http://mayfly.test:81', cookie }, body],
    ['no origin at all', { ...FORM, cookie }, body],
    ['cross-site', { ...FORM, 'sec-fetch-site': 'cross-site', cookie }, body],
    ['cross-site with the own origin', { ...OWN, 'sec-fetch-site': 'cross-site', cookie }, body],
    ['text/plain', { ...OWN, 'content-type': 'text/plain', cookie }, body],
    ['no type', { origin: 'http://mayfly.test', cookie }, body],
  ]
  for (const [what, headers, text] of bad) {
    const response = await ask(site, 'POST /guarded/form', headers, text)
    assertEquals(response.status, 403, what)
    assert(!response.text.includes('accepted'), what)
  }
  const second = await ask(site, 'GET /guarded/form', { cookie })
  assertNotEquals(second.text, token)
  assertEquals(second.headers.has('set-cookie'), false)
})

testCases('csrf', forms, [
  { name: 'HEAD passes', request: 'HEAD /guarded/form', status: 200 },
  {
    name: 'OPTIONS passes',
    request: 'OPTIONS /guarded/form',
    status: 204,
    has: { allow: 'GET, HEAD, OPTIONS, POST, PUT' },
  },
  {
    name: 'PUT from another origin is 403',
    request: 'PUT /guarded/form',
    headers: { origin: 'http://evil.test' },
    status: 403,
  },
  {
    name: 'PUT from the own origin needs no token',
    request: 'PUT /guarded/form',
    headers: { origin: 'http://mayfly.test' },
    status: 200,
    text: 'put',
  },
  { name: 'a spelling of the path is no way around it', request: 'PUT //guarded/%66orm', status: 403 },
  { name: 'an invented method is held to be unsafe', request: 'BREW /guarded/form', status: 403 },
])

const PREFLIGHT = { origin: 'https://app.test', 'access-control-request-method': 'PUT' }

testCases(
  'cors',
  defineSite({
    setup: (router) =>
      router.use(
        cors({ origin: 'https://app.test', credentials: true, exposedHeaders: ['x-native'], maxAge: 60 }),
      ),
  }),
  [
    {
      name: 'a preflight is 204 with what is allowed',
      request: 'OPTIONS /users/7',
      headers: { ...PREFLIGHT, 'access-control-request-headers': 'content-type' },
      status: 204,
      has: {
        'access-control-allow-origin': 'https://app.test',
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': /PUT/,
        'access-control-allow-headers': /content-type/i,
        'access-control-max-age': '60',
        vary: /Origin/i,
      },
      text: '',
    },
    {
      name: 'a preflight is answered before any route: 404 and 405 too',
      request: 'OPTIONS /nowhere',
      headers: PREFLIGHT,
      status: 204,
      has: { 'access-control-allow-origin': 'https://app.test' },
    },
    {
      name: 'a preflight from elsewhere allows nothing',
      request: 'OPTIONS /users/7',
      headers: { ...PREFLIGHT, origin: 'https://evil.test' },
      status: 204,
      has: { 'access-control-allow-origin': null, 'access-control-allow-credentials': null, vary: /Origin/i },
    },
    {
      name: 'OPTIONS without Origin is the automatic one',
      request: 'OPTIONS /users/7',
      status: 204,
      has: { allow: /PATCH/, 'access-control-allow-origin': null },
    },
    {
      name: 'a request gets the headers',
      request: 'GET /send/native',
      headers: { origin: 'https://app.test' },
      status: 200,
      has: {
        'access-control-allow-origin': 'https://app.test',
        'access-control-expose-headers': /x-native/i,
        vary: /Origin/i,
      },
    },
    {
      name: 'an error gets them too',
      request: 'GET /throw/sync',
      headers: { origin: 'https://app.test' },
      status: 500,
      has: { 'access-control-allow-origin': 'https://app.test' },
    },
    {
      name: '404 gets them too',
      request: 'GET /nowhere',
      headers: { origin: 'https://app.test' },
      status: 404,
      has: { 'access-control-allow-origin': 'https://app.test' },
    },
    {
      name: 'an immutable response gets them too',
      request: 'GET /send/native-redirect',
      headers: { origin: 'https://app.test' },
      status: 301,
      has: { 'access-control-allow-origin': 'https://app.test' },
    },
    {
      name: 'a request from elsewhere is served without them',
      request: 'GET /users/7',
      headers: { origin: 'https://app.test.evil.test' },
      status: 200,
      has: { 'access-control-allow-origin': null, vary: /Origin/i },
    },
    {
      name: 'a request without Origin varies by it',
      request: 'GET /users/7',
      status: 200,
      has: { vary: /Origin/i, 'access-control-allow-origin': null },
    },
  ],
)

function flip(char: string): string {
  return char === 'A' ? 'B' : 'A'
}
