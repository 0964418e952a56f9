import { requestId } from '@mayfly/mayfly'
import { assert, assertEquals, assertMatch, assertNotEquals } from '@std/assert'
import { answer, assertRefused, makeSite } from './site.ts'

const id = answer((ctx) => ctx.state.requestId)

function bring(value: string): RequestInit {
  return { headers: { 'x-request-id': value } }
}

Deno.test('requestId gives each request an id of its own, for header, state and event', async () => {
  const { ask, only } = makeSite([requestId(), id])
  const response = await ask('/')
  const name = response.headers.get('x-request-id')
  assertMatch(name!, /^[0-9a-f-]{36}$/)
  assertEquals(await response.json(), name)
  assertEquals(only('request:complete').id, name)
  assertNotEquals((await ask('/')).headers.get('x-request-id'), name)
})

Deno.test('requestId ignores the header of a stranger', async () => {
  assertNotEquals((await makeSite([requestId()]).ask('/', bring('mine'))).headers.get('x-request-id'), 'mine')
})

Deno.test('requestId keeps the header of a trusted proxy', async () => {
  const { ask } = makeSite([requestId({ trustHeader: true, headerName: 'X-Trace' })])
  const { headers } = await ask('/', { headers: { 'x-trace': 'Root=1-67891233:abc' } })
  assertEquals(headers.get('x-trace'), 'Root=1-67891233:abc')
})

for (const value of ['a b', '<script>', 'x'.repeat(201), '', 'a"b']) {
  Deno.test(`requestId does not keep the incoming id ${JSON.stringify(value.slice(0, 20))}`, async () => {
    const { headers } = await makeSite([requestId({ trustHeader: true })]).ask('/', bring(value))
    assertMatch(headers.get('x-request-id')!, /^[0-9a-f-]{36}$/)
  })
}

Deno.test('requestId names an error page too', async () => {
  assert((await makeSite([requestId()]).ask('/boom')).headers.has('x-request-id'))
})

Deno.test('requestId asks the generator, and refuses an id that could split a log line', async () => {
  const { ask } = makeSite([requestId({ generator: (ctx) => ctx.get.query('id') ?? 'none' })])
  assertEquals((await ask('/?id=abc')).headers.get('x-request-id'), 'abc')
  assertEquals((await ask('/?id=a%0Ab')).status, 500)
})

Deno.test('requestId checks its options', () => {
  assertRefused(
    () => requestId({ headerName: 'x id' }),
    TypeError,
    'headerName is "x id", want a header name',
  )
  assertRefused(
    () => requestId({ trustHeader: 1 as never }),
    TypeError,
    'trustHeader is 1, want true or false',
  )
  assertRefused(() => requestId({ generator: 'uuid' as never }), TypeError, 'generator')
})
