import { type Middleware, session, type SessionOptions } from '@mayfly/mayfly'
import { assert, assertEquals, assertMatch, assertNotEquals } from '@std/assert'
import { decodeBase64Url, encodeBase64Url } from '@std/encoding/base64url'
import { readSession, writeSession } from '../../src/middleware/session_cookie.ts'
import { toSigningKeys } from '../../src/middleware/secrets.ts'
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

/** `/?set=JSON` sets the session, `/?end` ends it, `/` shows it. */
const handler: Middleware = answer((ctx) => {
  const given = ctx.get.query('set')
  if (given !== undefined) ctx.set.session(JSON.parse(given))
  if (ctx.get.query('end') !== undefined) ctx.set.session(null)
  return ctx.get.session()
})

function siteWith(options: Partial<SessionOptions> = {}, last: Middleware = handler): Site {
  return makeSite([session({ cookieSecret: SECRET, ...options }), last])
}

async function login(site: Site, data: unknown = { user: 'ada' }): Promise<string> {
  return cookieOf(await site.ask(`/?set=${encodeURIComponent(JSON.stringify(data))}`), 'session')
}

Deno.test('session is null for a new visitor, and no cookie is set', async () => {
  const response = await siteWith().ask('/')
  assertEquals(await response.json(), null)
  assertEquals(response.headers.getSetCookie(), [])
})

Deno.test('session comes back with the cookie', async () => {
  const site = siteWith()
  const cookie = await login(site, { user: 'ada', list: [1, 'ü', null] })
  const response = await site.ask('/', { headers: { cookie } })
  assertEquals(await response.json(), { user: 'ada', list: [1, 'ü', null] })
  assertEquals(response.headers.getSetCookie(), [], 'a session that was only read is not sent again')
})

Deno.test('session sets a safe cookie unless told', async () => {
  const response = await siteWith().ask('/?set={}')
  const line = cookieOf(response, 'session', true)
  for (const part of ['Secure', 'HttpOnly', 'SameSite=Lax', 'Path=/', 'Max-Age=86400']) {
    assert(line.split('; ').includes(part), `${line} lacks ${part}`)
  }
})

Deno.test('session takes its cookie attributes from the options', async () => {
  const site = siteWith({
    cookieName: 'sid',
    secure: false,
    httpOnly: false,
    sameSite: 'Strict',
    path: '/app',
    domain: 'site.example',
    maxAge: 60,
  })
  const parts = cookieOf(await site.ask('/?set={}'), 'sid', true).split('; ').slice(1).sort()
  assertEquals(parts, ['Domain=site.example', 'Max-Age=60', 'Path=/app', 'SameSite=Strict'])
})

Deno.test('session ends by null, and the cookie is deleted with the same attributes', async () => {
  const site = siteWith({ path: '/app' })
  const response = await site.ask('/?end', { headers: { cookie: await login(site) } })
  assertEquals(await response.json(), null)
  const line = cookieOf(response, 'session', true)
  assertMatch(line, /^session=;/)
  assert(line.includes('Max-Age=0') && line.includes('Path=/app') && line.includes('Secure'), line)
})

Deno.test('session null without a cookie sets none', async () => {
  assertEquals((await siteWith().ask('/?end')).headers.getSetCookie(), [])
})

Deno.test('session is kept when the handler fails after it was set', async () => {
  const site = siteWith(
    {},
    answer((ctx) => {
      ctx.set.session({ tries: 1 })
      return ctx.fail(401)
    }),
  )
  const response = await site.ask('/')
  assertEquals(response.status, 401)
  assertMatch(cookieOf(response, 'session'), /^session=\S+\.\S+$/)
})

const tampered: Record<string, (value: string) => string> = {
  'a changed payload': (value) => {
    const [payload, signature] = value.split('.')
    const text = new TextDecoder().decode(decodeBase64Url(payload)).replace('ada', 'eve')
    return `${encodeBase64Url(text)}.${signature}`
  },
  'a changed signature': (value) => value.slice(0, -4) + (value.endsWith('AAAA') ? 'BBBB' : 'AAAA'),
  'a cut signature': (value) => value.slice(0, -5),
  'no signature': (value) => value.split('.')[0],
  'an empty signature': (value) => `${value.split('.')[0]}.`,
  'another part': (value) => `${value}.x`,
  'no base64': (value) => `!!!${value}`,
  'another base64 of the same signature': (value) => `${value}=`,
  'nothing': () => '',
  'a long text': () => 'x'.repeat(4000),
}
for (const [what, tamper] of Object.entries(tampered)) {
  Deno.test(`session with ${what} is none, is deleted and reported`, async () => {
    const site = siteWith()
    const value = (await login(site)).slice('session='.length)
    site.events.length = 0
    const response = await site.ask('/', { headers: { cookie: `session=${tamper(value)}` } })
    assertEquals(await response.json(), null)
    assertMatch(cookieOf(response, 'session', true), /Max-Age=0/)
    const { reason, cookieName } = site.only('session:invalid')
    assert(reason === 'signature' || reason === 'malformed', String(reason))
    assertEquals(cookieName, 'session')
  })
}

Deno.test('session does not take a cookie of another name or secret', async () => {
  const value = (await login(siteWith())).slice('session='.length)
  const named = siteWith({ cookieName: 'other' })
  assertEquals(await (await named.ask('/', { headers: { cookie: `other=${value}` } })).json(), null)
  const keyed = siteWith({ cookieSecret: OTHER_SECRET })
  assertEquals(await (await keyed.ask('/', { headers: { cookie: `session=${value}` } })).json(), null)
})

Deno.test('session signed by an older key is taken and signed anew, with its old expiry', async () => {
  const cookie = await login(siteWith({ maxAge: 1000 }))
  const rotated = siteWith({ cookieSecret: [OTHER_SECRET, SECRET] })
  const response = await rotated.ask('/', { headers: { cookie } })
  assertEquals(await response.json(), { user: 'ada' })
  assertMatch(cookieOf(response, 'session', true), /Max-Age=(?:1000|99\d);/)
  const renewed = siteWith({ cookieSecret: OTHER_SECRET })
  const again = await renewed.ask('/', { headers: { cookie: cookieOf(response, 'session') } })
  assertEquals(await again.json(), { user: 'ada' })
})

Deno.test('session over its time is none, whatever the browser says', async () => {
  const keys = toSigningKeys(SECRET)
  const id = 'A'.repeat(22)
  const past = Math.floor(Date.now() / 1000) - 1
  const value = await writeSession(keys, 'session', id, past, '{"user":"ada"}')
  const site = siteWith()
  const response = await site.ask('/', { headers: { cookie: `session=${value}` } })
  assertEquals(await response.json(), null)
  assertEquals(site.only('session:invalid').reason, 'expired')
})

Deno.test('readSession counts the second of expiry as over', async () => {
  const keys = toSigningKeys(SECRET)
  const value = await writeSession(keys, 's', 'A'.repeat(22), 100, '{"a":"line\\nbreak. dot"}')
  assertEquals(await readSession(keys, 's', value, 99), {
    payload: { id: 'A'.repeat(22), expires: 100, data: { a: 'line\nbreak. dot' } },
    key: 0,
  })
  assertEquals(await readSession(keys, 's', value, 100), { fault: 'expired' })
})

Deno.test('session of a rolling kind is sent anew with every response', async () => {
  const site = siteWith({ rolling: true })
  const response = await site.ask('/', { headers: { cookie: await login(site) } })
  assertMatch(cookieOf(response, 'session', true), /Max-Age=86400/)
})

Deno.test('session too large for a cookie fails where it is set, with its size', async () => {
  let message = ''
  const site = siteWith(
    {},
    answer((ctx) => {
      try {
        ctx.set.session({ text: 'x'.repeat(3500) })
      } catch (error) {
        message = `${error}`
      }
      return ctx.get.session()
    }),
  )
  const response = await site.ask('/')
  assertMatch(message, /^RangeError: Cannot set the session: its cookie has 4\d{3} bytes, want at most 4096/)
  assertEquals(response.headers.getSetCookie(), [])
})

Deno.test('session as large as a cookie can be is kept', async () => {
  const site = siteWith()
  let size = 2950
  while (await statusOf(site.ask(`/?set=${JSON.stringify({ t: 'x'.repeat(size) })}`)) === 200) size += 1
  const last = cookieOf(await site.ask(`/?set=${JSON.stringify({ t: 'x'.repeat(size - 1) })}`), 'session')
  assert(last.length <= 4096 && last.length >= 4090, `${last.length}`)
  assertEquals((await (await site.ask('/', { headers: { cookie: last } })).json()).t.length, size - 1)
})

for (const data of ['text', 5, () => 1, { toJSON: () => 'x' }]) {
  Deno.test(`session refuses data of no object form: ${typeof data}`, async () => {
    const site = siteWith(
      {},
      answer((ctx) => {
        ctx.set.session(data as object)
      }),
    )
    assertEquals(await statusOf(site.ask('/')), 500)
    assertMatch(String(site.only('request:error').error), /TypeError: Cannot set the session: the data is/)
  })
}

Deno.test('session keeps its id when data is replaced, and changes it when it was ended first', async () => {
  const idOf = (cookie: string) =>
    new TextDecoder().decode(decodeBase64Url(cookie.slice(8).split('.')[0])).slice(0, 22)
  const site = siteWith()
  const first = await login(site)
  const second = await site.ask('/?set={"b":1}', { headers: { cookie: first } })
  assertEquals(idOf(cookieOf(second, 'session')), idOf(first))
  const fresh = siteWith(
    {},
    answer((ctx) => {
      ctx.set.session(null)
      ctx.set.session({ user: 'eve' })
    }),
  )
  const third = await fresh.ask('/', { headers: { cookie: first } })
  assertNotEquals(idOf(cookieOf(third, 'session')), idOf(first))
})

Deno.test('session data named __proto__ is data', async () => {
  const site = siteWith()
  const cookie = cookieOf(await site.ask('/?set={"__proto__":{"admin":true}}'), 'session')
  const check = siteWith(
    {},
    answer((ctx) => ({ admin: (ctx.get.session() as { admin?: boolean }).admin ?? false })),
  )
  assertEquals(await (await check.ask('/', { headers: { cookie } })).json(), { admin: false })
})

Deno.test('session checks its options and keeps secrets out of messages', () => {
  const make = (options: Record<string, unknown>) => () => session(options as unknown as SessionOptions)
  assertRefused(make({}), TypeError, 'Cannot make session: cookieSecret is missing')
  assertRefused(
    make({ cookieSecret: 'short' }),
    RangeError,
    'cookieSecret is text of 5 characters',
    '32 characters',
  )
  assertRefused(make({ cookieSecret: [SECRET, 'short'] }), RangeError, 'cookieSecret is an array of 2')
  assertRefused(make({ cookieSecret: [] }), RangeError, 'an array of 0')
  assertRefused(make({ cookieSecret: SECRET, maxAge: 0 }), RangeError, 'maxAge is 0')
  assertRefused(make({ cookieSecret: SECRET, sameSite: 'lax' }), TypeError, 'sameSite is "lax"', '"Lax"')
  assertRefused(
    make({ cookieSecret: SECRET, sameSite: 'None', secure: false }),
    TypeError,
    'sameSite is "None"',
  )
  assertRefused(make({ cookieSecret: SECRET, cookieName: 'a b' }), TypeError, 'cookieName is "a b"')
  assertRefused(make({ cookieSecret: SECRET, cookieName: '__Host-s', path: '/a' }), TypeError, '__Host-s')
  assertRefused(
    make({ cookieSecret: SECRET, cookieName: '__Secure-s', secure: false }),
    TypeError,
    'secure: true',
  )
  assertRefused(make({ cookieSecret: SECRET, path: 'a;b' }), TypeError, 'path is "a;b"')
})
