import { bodyLimit } from '@mayfly/mayfly'
import { assertEquals } from '@std/assert'
import { answer, assertRefused, makeSite, statusOf } from './site.ts'

const size = answer(async (ctx) => (await ctx.get.bytes()).length)

function stream(bytes: number): RequestInit {
  return { method: 'POST', body: new Blob([new Uint8Array(bytes)]).stream() }
}

Deno.test('bodyLimit passes a body of exactly the limit', async () => {
  const { ask } = makeSite([bodyLimit({ limit: 10 }), size])
  assertEquals(await (await ask('/', { method: 'POST', body: '0123456789' })).json(), 10)
  assertEquals(await (await ask('/', stream(10))).json(), 10)
})

Deno.test('bodyLimit refuses a declared length at once, before any handler', async () => {
  let ran = false
  const { ask, only } = makeSite([bodyLimit({ limit: 10 }), answer(() => ran = true)])
  const init = { method: 'POST', body: '01234567890', headers: { 'content-length': '11' } }
  assertEquals(await statusOf(ask('/', init)), 413)
  assertEquals(ran, false)
  assertEquals({ ...only('body:rejected') }, { reason: 'too large', limit: 10, size: 11 })
})

Deno.test('bodyLimit refuses a stream when it turns out larger', async () => {
  const { ask, only } = makeSite([bodyLimit({ limit: 10 }), size])
  assertEquals(await statusOf(ask('/', stream(11))), 413)
  assertEquals(only('body:rejected').limit, 10)
})

Deno.test('bodyLimit 0 allows no body at all', async () => {
  const { ask } = makeSite([bodyLimit({ limit: 0 }), size])
  assertEquals(await statusOf(ask('/', { method: 'POST', body: 'x' })), 413)
  assertEquals(await statusOf(ask('/', { method: 'POST' })), 200)
})

Deno.test('bodyLimit may allow more than the router', async () => {
  const { ask } = makeSite([bodyLimit({ limit: 100 }), size], { maxBodyBytes: 10 })
  assertEquals(await (await ask('/', stream(50))).json(), 50)
})

Deno.test('the inner bodyLimit counts', async () => {
  const { ask } = makeSite([bodyLimit({ limit: 100 }), bodyLimit({ limit: 5 }), size])
  assertEquals(await statusOf(ask('/', stream(6))), 413)
})

Deno.test('bodyLimit checks its options', () => {
  assertRefused(() => bodyLimit({} as never), TypeError, 'Cannot make bodyLimit: limit is missing')
  assertRefused(() => bodyLimit({ limit: -1 }), RangeError, 'limit is -1, want an integer of at least 0')
  assertRefused(() => bodyLimit({ limit: 1.5 }), RangeError, 'limit is 1.5')
  assertRefused(() => bodyLimit({ limit: '1mb' as never }), TypeError, 'limit is "1mb"')
})
