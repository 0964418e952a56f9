import { bearerAuth } from '@mayfly/mayfly'
import { assertEquals } from '@std/assert'
import { answer, assertRefused, makeSite, statusOf } from './site.ts'

const identity = answer((ctx) => ctx.state.identity)

function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } }
}

Deno.test('bearerAuth passes a known token, whatever the case of the scheme', async () => {
  const { ask } = makeSite([bearerAuth({ tokens: ['abc.def', 'ghi'] })])
  assertEquals(await (await ask('/', bearer('ghi'))).text(), 'home')
  assertEquals(await statusOf(ask('/', { headers: { authorization: 'bearer abc.def' } })), 200)
})

Deno.test('bearerAuth challenges without an error code when nothing was sent', async () => {
  const { ask, only } = makeSite([bearerAuth({ tokens: ['abc'] })])
  const response = await ask('/')
  assertEquals(response.status, 401)
  assertEquals(response.headers.get('www-authenticate'), 'Bearer realm="Restricted"')
  assertEquals(only('auth:failed').reason, 'missing')
})

Deno.test('bearerAuth takes another scheme for nothing sent', async () => {
  const { ask } = makeSite([bearerAuth({ tokens: ['abc'] })])
  const response = await ask('/', { headers: { authorization: 'Basic YTpi' } })
  assertEquals([response.status, response.headers.get('www-authenticate')], [
    401,
    'Bearer realm="Restricted"',
  ])
})

Deno.test('bearerAuth calls a wrong token invalid_token', async () => {
  const { ask, only } = makeSite([bearerAuth({ tokens: ['abc'] })])
  const response = await ask('/', bearer('abd'))
  assertEquals(response.status, 401)
  assertEquals(response.headers.get('www-authenticate'), 'Bearer realm="Restricted", error="invalid_token"')
  assertEquals({ ...only('auth:failed') }, { reason: 'credentials', scheme: 'bearer' })
})

for (const token of ['', 'a b', 'a,b', 'ä', 'a=b']) {
  Deno.test(`bearerAuth calls the token "${token}" invalid_request`, async () => {
    const { ask } = makeSite([bearerAuth({ tokens: ['abc'] })])
    const response = await ask('/', bearer(token))
    assertEquals(response.status, 400)
    assertEquals(
      response.headers.get('www-authenticate'),
      'Bearer realm="Restricted", error="invalid_request"',
    )
  })
}

Deno.test('bearerAuth hands on what verify gave', async () => {
  const verify = (token: string) => Promise.resolve(token === 'good' ? { user: 7 } : null)
  const { ask } = makeSite([bearerAuth({ verify }), identity])
  assertEquals(await (await ask('/', bearer('good'))).json(), { user: 7 })
  assertEquals(await statusOf(ask('/', bearer('bad'))), 401)
})

Deno.test('bearerAuth does not ask verify for a known token', async () => {
  const verify = () => {
    throw new Error('asked')
  }
  const { ask } = makeSite([bearerAuth({ tokens: ['known'], verify }), identity])
  assertEquals(await statusOf(ask('/', bearer('known'))), 200)
  assertEquals(await statusOf(ask('/', bearer('unknown'))), 500)
})

Deno.test('bearerAuth checks its options', () => {
  assertRefused(() => bearerAuth({}), TypeError, 'Cannot make bearerAuth: tokens is undefined')
  assertRefused(() => bearerAuth({ tokens: ['a b'] }), TypeError, 'tokens is an array of 1, want')
  assertRefused(() => bearerAuth({ verify: 'x' as never }), TypeError, `verify is "x", want a function`)
})
