import { basicAuth, type BasicAuthOptions } from '@mayfly/mayfly'
import { assert, assertEquals } from '@std/assert'
import { encodeBase64 } from '@std/encoding/base64'
import { answer, assertRefused, makeSite, statusOf } from './site.ts'

const USERS = [{ username: 'ada', password: 'lovelace' }, { username: 'åsa', password: 'pass:wörd' }]
const who = answer((ctx) => ctx.state.username)

function login(text: string | Uint8Array): RequestInit {
  return { headers: { authorization: `Basic ${encodeBase64(text)}` } }
}

Deno.test('basicAuth passes a user and names it', async () => {
  const { ask } = makeSite([basicAuth({ users: USERS }), who])
  assertEquals(await (await ask('/', login('ada:lovelace'))).json(), 'ada')
})

Deno.test('basicAuth reads UTF-8, and a colon in the password', async () => {
  const { ask } = makeSite([basicAuth({ users: USERS }), who])
  assertEquals(await (await ask('/', login('åsa:pass:wörd'))).json(), 'åsa')
})

Deno.test('basicAuth challenges a request without credentials', async () => {
  const { ask, only } = makeSite([basicAuth({ users: USERS, realm: 'the "vault"' }), who])
  const response = await ask('/')
  assertEquals(response.status, 401)
  assertEquals(response.headers.get('www-authenticate'), 'Basic realm="the \\"vault\\"", charset="UTF-8"')
  assertEquals(only('auth:failed').reason, 'missing')
})

Deno.test('basicAuth answers a wrong user and a wrong password alike', async () => {
  const { ask } = makeSite([basicAuth({ users: USERS })])
  const one = await ask('/', login('ada:wrong'))
  const other = await ask('/', login('nobody:lovelace'))
  assertEquals(one.status, 401)
  assertEquals(await one.text(), await other.text())
  assertEquals([...one.headers], [...other.headers])
})

Deno.test('basicAuth does not pass one user with the password of another', async () => {
  const { ask } = makeSite([basicAuth({ users: USERS }), who])
  assertEquals(await statusOf(ask('/', login('ada:pass:wörd'))), 401)
})

Deno.test('basicAuth does not pass a login whose parts were moved across the colon', async () => {
  const { ask } = makeSite([basicAuth({ users: [{ username: 'ab', password: 'c' }] }), who])
  assertEquals(await statusOf(ask('/', login('a:bc'))), 401)
  assertEquals(await statusOf(ask('/', login('ab:c'))), 200)
})

for (
  const [what, header] of [
    ['another scheme', 'Bearer abc'],
    ['no base64', 'Basic !!!'],
    ['no colon', `Basic ${encodeBase64('ada')}`],
    ['malformed UTF-8', `Basic ${encodeBase64(new Uint8Array([0xff, 0x3a, 0x61]))}`],
    ['a control character', `Basic ${encodeBase64('ada:love\0lace')}`],
    ['an empty value', 'Basic'],
  ] as const
) {
  Deno.test(`basicAuth refuses ${what}`, async () => {
    const { ask, only } = makeSite([basicAuth({ users: USERS }), who])
    assertEquals(await statusOf(ask('/', { headers: { authorization: header } })), 401)
    assertEquals(only('auth:failed').reason, 'malformed')
  })
}

Deno.test('basicAuth tells the event who tried, never the password', async () => {
  const { ask, only } = makeSite([basicAuth({ users: USERS })])
  await statusOf(ask('/', login('eve:sesame')))
  assertEquals({ ...only('auth:failed') }, { reason: 'credentials', scheme: 'basic', username: 'eve' })
})

Deno.test('basicAuth asks verify for users that are kept elsewhere', async () => {
  const verify = (username: string, password: string) =>
    Promise.resolve(username === 'eve' && password === 'pw')
  const { ask } = makeSite([basicAuth({ verify }), who])
  assertEquals(await (await ask('/', login('eve:pw'))).json(), 'eve')
  assertEquals(await statusOf(ask('/', login('eve:no'))), 401)
})

Deno.test('basicAuth takes nothing but true from verify', async () => {
  const verify = (() => 'yes') as unknown as BasicAuthOptions['verify']
  const { ask } = makeSite([basicAuth({ verify }), who])
  assertEquals(await statusOf(ask('/', login('eve:pw'))), 401)
})

Deno.test('basicAuth checks its options and keeps passwords out of messages', () => {
  assertRefused(() => basicAuth({}), TypeError, 'Cannot make basicAuth: users is undefined, want')
  assertRefused(() => basicAuth({ users: [] }), TypeError, 'users is an array of 0')
  assertRefused(() => basicAuth({ users: [{ username: 'a:b', password: 'p' }] }), TypeError, 'without ":"')
  assertRefused(() => basicAuth({ users: USERS, realm: 'a\nb' }), TypeError, 'realm')
  assertRefused(() => basicAuth({ user: USERS } as never), TypeError, 'user is no option', 'users')
  assertRefused(() => basicAuth(undefined as never), TypeError, 'options is undefined, want an object')
  const text = (() => {
    try {
      basicAuth({ users: [{ username: '', password: 'hidden' }] })
    } catch (error) {
      return String(error)
    }
  })()
  assert(text !== undefined && !text.includes('hidden'))
})
