import { csrf, type CsrfOptions, type Middleware, session } from '@mayfly/mayfly'
import { assert, assertEquals, assertMatch, assertNotEquals } from '@std/assert'
import {
  answer,
  assertRefused,
  cookieOf,
  makeSite,
  OTHER_SECRET,
  SECRET,
  type Site,
  statusOf,
} from './site.ts'

/** GET gives the token, POST what the handler read of the body. `/?login` begins a session. */
const handler: Middleware = answer(async (ctx) => {
  if (ctx.get.query('login') !== undefined) ctx.set.session({ user: ctx.get.query('login') })
  if (ctx.get.method() === 'GET') return ctx.state.csrfToken
  return { body: await ctx.get.body() ?? null }
})

function siteWith(options: CsrfOptions = {}, before: Middleware[] = []): Site {
  return makeSite([...before, csrf({ cookieSecret: SECRET, ...options }), handler])
}

const withSession = () => siteWith({}, [session({ cookieSecret: OTHER_SECRET })])

interface Visit {
  readonly token: string
  readonly cookie: string
}

async function visit(site: Site, path = '/', cookie = ''): Promise<Visit> {
  const response = await site.ask(path, { headers: cookie === '' ? {} : { cookie } })
  const set = response.headers.getSetCookie().map((line) => line.split(';', 1)[0])
  const jar = new Map(
    [...cookie.split('; '), ...set].filter((item) => item !== '').map((
      item,
    ) => [item.split('=', 1)[0], item]),
  )
  return { token: await response.json(), cookie: [...jar.values()].join('; ') }
}

const OWN = { 'sec-fetch-site': 'same-origin' }

function form(fields: Record<string, string>, headers: Record<string, string> = {}): RequestInit {
  return { method: 'POST', body: new URLSearchParams(fields), headers: dropEmpty({ ...OWN, ...headers }) }
}

function dropEmpty(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''))
}

Deno.test('csrf passes a form with its token, and the handler still reads the body', async () => {
  const site = siteWith()
  const { token, cookie } = await visit(site)
  const response = await site.ask('/', form({ _csrf: token, name: 'ada' }, { cookie }))
  assertEquals(response.status, 200)
  assertEquals((await response.json()).body, { _csrf: token, name: 'ada' })
})

Deno.test('csrf takes the token of a multipart form and of a header', async () => {
  const site = siteWith()
  const { token, cookie } = await visit(site)
  const body = new FormData()
  body.set('_csrf', token)
  body.set('file', new File(['x'], 'x.txt'))
  assertEquals(await statusOf(site.ask('/', { method: 'POST', body, headers: { ...OWN, cookie } })), 200)
  assertEquals(await statusOf(site.ask('/', form({}, { cookie, 'x-csrf-token': token }))), 200)
})

Deno.test('csrf sets its cookie only when a handler reads the token, and only once', async () => {
  const site = siteWith()
  assertEquals((await makeSite([csrf({ cookieSecret: SECRET })]).ask('/')).headers.getSetCookie(), [])
  const first = await site.ask('/')
  const line = cookieOf(first, 'csrf', true)
  for (const part of ['Secure', 'HttpOnly', 'SameSite=Lax', 'Path=/']) assert(line.includes(part), line)
  const second = await site.ask('/', { headers: { cookie: cookieOf(first, 'csrf') } })
  assertEquals(second.headers.getSetCookie(), [])
  assertEquals([first, second].map(({ headers }) => headers.get('vary')), ['Cookie', 'Cookie'])
})

Deno.test('csrf gives another token for every page, and all of them hold', async () => {
  const site = siteWith()
  const one = await visit(site)
  const two = await visit(site, '/', one.cookie)
  assertNotEquals(one.token, two.token)
  assertEquals(one.cookie, two.cookie)
  for (const { token } of [one, two]) {
    assertEquals(await statusOf(site.ask('/', form({ _csrf: token }, { cookie: one.cookie }))), 200)
  }
})

const forged: Record<string, (own: Visit, other: Visit) => [token: string | undefined, cookie: string]> = {
  'no token': ({ cookie }) => [undefined, cookie],
  'an empty token': ({ cookie }) => ['', cookie],
  'no cookie': ({ token }) => [token, ''],
  'the cookie of another visitor': ({ token }, { cookie }) => [token, cookie],
  'a changed salt': ({ token, cookie }) => [(token.startsWith('x') ? 'y' : 'x') + token.slice(1), cookie],
  'a changed signature': (
    { token, cookie },
  ) => [token.slice(0, -3) + (token.endsWith('AAA') ? 'BBB' : 'AAA'), cookie],
  'a token without signature': ({ token, cookie }) => [token.split('.')[0], cookie],
  'a token of many parts': ({ token, cookie }) => [`${token}.${token}`, cookie],
  'the cookie as token': ({ cookie }) => [cookie.split('=')[1], cookie],
  'a cookie that the server never made': ({ token }) => [token, `csrf=${'A'.repeat(22)}`],
  'a malformed cookie': ({ token }) => [token, 'csrf=x'],
}
for (const [what, forge] of Object.entries(forged)) {
  Deno.test(`csrf refuses a form with ${what}`, async () => {
    const site = siteWith()
    const [token, cookie] = forge(await visit(site), await visit(site))
    assertEquals(
      await statusOf(site.ask('/', form(token === undefined ? {} : { _csrf: token }, { cookie }))),
      403,
    )
  })
}

Deno.test('csrf binds the token to the session', async () => {
  const site = withSession()
  const anonymous = await visit(site)
  const ada = await visit(site, '/?login=ada', anonymous.cookie)
  const later = await visit(site, '/', ada.cookie)
  const eve = await visit(site, '/?login=eve', anonymous.cookie)
  const post = (token: string, cookie: string) => statusOf(site.ask('/', form({ _csrf: token }, { cookie })))
  assertEquals(await post(anonymous.token, anonymous.cookie), 200)
  assertEquals(await post(later.token, ada.cookie), 200)
  assertEquals(await post(anonymous.token, ada.cookie), 403, 'a token from before the login')
  assertEquals(
    await post(eve.token, ada.cookie),
    403,
    'a token of another session under the same csrf cookie',
  )
  assertEquals(await post(later.token, anonymous.cookie), 403, 'a token of a session without it')
})

Deno.test('csrf: the page that begins a session has a token that holds in it', async () => {
  const site = withSession()
  const { token, cookie } = await visit(site, '/?login=ada')
  assertMatch(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  assertEquals(await statusOf(site.ask('/', form({ _csrf: token }, { cookie }))), 200)
})

Deno.test('csrf takes a token of an older key', async () => {
  const { token, cookie } = await visit(siteWith())
  const rotated = siteWith({ cookieSecret: [OTHER_SECRET, SECRET] })
  assertEquals(await statusOf(rotated.ask('/', form({ _csrf: token }, { cookie }))), 200)
  const gone = siteWith({ cookieSecret: OTHER_SECRET })
  assertEquals(await statusOf(gone.ask('/', form({ _csrf: token }, { cookie }))), 403)
})

for (const method of ['GET', 'HEAD', 'OPTIONS']) {
  Deno.test(`csrf passes ${method} from anywhere`, async () => {
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    assertEquals(await statusOf(siteWith().ask('/', { method, headers })), 200)
  })
}

for (
  const [headers, status] of [
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://localhost' }, 200],
    [{ origin: 'http://localhost' }, 200],
    [{ 'sec-fetch-site': 'cross-site', origin: 'http://localhost' }, 403],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://other.localhost' }, 403],
    [{ 'sec-fetch-site': 'none' }, 403],
    [{ origin: 'https://localhost' }, 403],
    [{ origin: 'http://localhost:8080' }, 403],
    [{ origin: 'http://localhost.evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{}, 403],
  ] as [Record<string, string>, number][]
) {
  Deno.test(`csrf answers ${status} to JSON with ${JSON.stringify(headers)}`, async () => {
    const init = { method: 'PUT', body: '{}', headers: { ...headers, 'content-type': 'application/json' } }
    assertEquals(await statusOf(siteWith().ask('/', init)), status)
  })
}

Deno.test('csrf takes origins that the options name', async () => {
  const headers = {
    'sec-fetch-site': 'cross-site',
    origin: 'https://app.example',
    'content-type': 'application/json',
  }
  const init = { method: 'POST', body: '{}', headers }
  assertEquals(await statusOf(siteWith({ origin: 'https://app.example/' }).ask('/', init)), 200)
  assertEquals(await statusOf(siteWith({ origin: ['https://b.example'] }).ask('/', init)), 403)
  assertEquals(
    await statusOf(siteWith({ origin: (origin) => origin.endsWith('.example') }).ask('/', init)),
    200,
  )
  assertEquals(await statusOf(siteWith({ secFetchSite: ['same-origin', 'cross-site'] }).ask('/', init)), 200)
})

Deno.test('csrf refuses when a rule throws or rejects, and reports it', async () => {
  for (
    const origin of [() => Promise.reject(new Error('down')), () => {
      throw new Error('down')
    }]
  ) {
    const site = siteWith({ origin })
    const init = { method: 'POST', body: '{}', headers: { origin: 'https://a.example' } }
    const response = await site.ask('/', init)
    assertEquals(response.status, 403)
    assertEquals((await response.text()).includes('down'), false)
    const { reason, rule, error } = site.only('csrf:rule-error')
    assertEquals([reason, rule, String(error)], ['threw', 'origin', 'Error: down'])
  }
})

Deno.test('csrf takes nothing but true from a rule', async () => {
  const site = siteWith({ origin: (() => 'yes') as never })
  assertEquals(
    await statusOf(site.ask('/', { method: 'PUT', headers: { origin: 'https://a.example' } })),
    403,
  )
})

Deno.test('csrf knows the own origin behind a trusted proxy, and only there', async () => {
  const headers = {
    origin: 'https://site.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'site.example',
    'content-type': 'application/json',
  }
  const init = { method: 'POST', body: '{}', headers }
  const chain = [csrf({ cookieSecret: SECRET }), handler]
  assertEquals(await statusOf(makeSite(chain, { trustProxy: true }).ask('/', init)), 200)
  assertEquals(await statusOf(makeSite(chain).ask('/', init)), 403)
  assertEquals(await statusOf(makeSite(chain, { trustProxy: ['10.0.0.1'] }).ask('/', init)), 403)
})

for (
  const type of [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    undefined,
  ]
) {
  Deno.test(`csrf asks for a token from a POST of type ${type}`, async () => {
    const headers: Record<string, string> = type === undefined ? OWN : { ...OWN, 'content-type': type }
    const status = await statusOf(siteWith().ask('/', { method: 'POST', headers }))
    assert(status === 403 || (status === 400 && type?.startsWith('multipart')), `${status}`)
  })
}

Deno.test('csrf with token "always" asks JSON for one, with "never" nobody', async () => {
  const json = { ...OWN, 'content-type': 'application/json' }
  const site = siteWith({ token: 'always' })
  assertEquals(await statusOf(site.ask('/', { method: 'DELETE', headers: json })), 403)
  const { token, cookie } = await visit(site)
  const headers = { ...json, cookie, 'x-csrf-token': token }
  assertEquals(await statusOf(site.ask('/', { method: 'DELETE', headers })), 200)
  const never = makeSite([csrf({ token: 'never' }), handler])
  assertEquals(await statusOf(never.ask('/', form({}))), 200)
  assertEquals(await statusOf(never.ask('/', form({}, { 'sec-fetch-site': 'cross-site' }))), 403)
})

Deno.test('csrf refuses a wrong token even where none is needed', async () => {
  const headers = { ...OWN, 'content-type': 'application/json', 'x-csrf-token': 'wrong' }
  assertEquals(await statusOf(siteWith().ask('/', { method: 'POST', body: '{}', headers })), 403)
})

Deno.test('csrf takes field, header and cookie names from the options', async () => {
  const site = siteWith({ fieldName: 'token', headerName: 'X-T', cookieName: '__Host-csrf' })
  const { token, cookie } = await visit(site)
  assertMatch(cookie, /^__Host-csrf=/)
  assertEquals(await statusOf(site.ask('/', form({ token }, { cookie }))), 200)
  assertEquals(await statusOf(site.ask('/', form({}, { cookie, 'x-t': token }))), 200)
  assertEquals(await statusOf(site.ask('/', form({ _csrf: token }, { cookie }))), 403)
})

Deno.test('csrf checks its options', () => {
  assertRefused(() => csrf(), TypeError, 'Cannot make csrf: cookieSecret is undefined', 'token: "never"')
  assertRefused(() => csrf({ cookieSecret: 'x' }), RangeError, 'text of 1 characters')
  assertRefused(() => csrf({ token: 'never', origin: 'a' }), TypeError, 'origin is "a"')
  assertRefused(() => csrf({ token: 'never', secFetchSite: 'own' }), TypeError, 'secFetchSite is "own"')
  assertRefused(() => csrf({ token: 'some' as never }), TypeError, 'token is "some"')
  assertRefused(() => csrf({ token: 'never', cookieName: '__Host-c', secure: false }), TypeError, '__Host-c')
})
