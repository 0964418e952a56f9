/** Bodies of requests that isolated handlers get piece by piece, in real machines. */
import { assert, assertEquals } from '@std/assert'
import { WINDOW } from '../../src/reach/calls/protocol.ts'
import { WHOLE_BYTES } from '../../src/context/body_source.ts'
import { until } from '../until.ts'
import { inEachRuntime, openSite, type Suite } from './fixture.ts'

const LIMIT = 128 << 20
const CHUNK = 1 << 16

inEachRuntime(
  (runtime) => openSite('bodies', { isolate: { vms: 1, runtime }, maxBodyBytes: LIMIT }),
  suite,
)

/** A body of so many chunks that counts those it gave. */
function chunks(count: number, ms = 0, size = CHUNK) {
  const state = { given: 0, cancelled: false }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      if (state.given === count) return controller.close()
      if (ms > 0) await new Promise((done) => setTimeout(done, ms))
      controller.enqueue(new Uint8Array(size).fill(state.given++ % 251))
    },
    cancel: () => void (state.cancelled = true),
  }, { highWaterMark: 0 })
  return { state, body }
}

/** What the handler `sum` makes of it. */
function sumOf(count: number): string {
  let sum = 0
  const each = Math.ceil(CHUNK / 997)
  for (let chunk = 0; chunk < count; chunk++) sum = (sum + each * (chunk % 251)) % 65_521
  return `${count * CHUNK} ${sum}`
}

function suite({ test, site, runtime }: Suite): void {
  const post = (what: string, body: BodyInit, headers: HeadersInit = {}, route = 'do') =>
    site.router.fetch(
      new Request(`http://localhost/${route}?what=${what}`, { method: 'POST', body, headers }),
    )
  const answer = async (what: string, body: BodyInit, headers: HeadersInit = {}, route?: string) => {
    const response = await post(what, body, headers, route)
    return [response.status, response.status === 200 ? await response.text() : response.statusText]
  }
  /** As `answer`, by the route whose limits no busy host meets. */
  const calmly = (what: string, body: BodyInit) => answer(what, body, {}, 'patient')

  test('a body that is larger than the memory of its machine comes through', async () => {
    assertEquals(await calmly('sum', chunks(900).body), [200, sumOf(900)])
    assertEquals(await calmly('sum', chunks(3).body), [200, sumOf(3)])
  })

  test('every way to read a body reads one that comes in pieces', async () => {
    const text = 'x'.repeat(300_000)
    assertEquals(await calmly('text', text), [200, '300000'])
    assertEquals(await calmly('bytes', text), [200, '300000'])
    assertEquals(await calmly('clone', text), [200, 'true true 300000'])
    assertEquals(await calmly('again', text), [200, '300000 300000'])
    const json = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key ${i}`, i])))
    assertEquals(await calmly('json', json), [200, '20000'])
    assertEquals(await calmly('text', chunks(5, 3).body), [200, String(5 * CHUNK)])
    assertEquals(await calmly('echo', text), [200, text])
  })

  if (runtime === 'deno') {
    test('a reader brings its own buffer, whether the body comes whole or in pieces', async () => {
      assertEquals(await calmly('byob', 'x'.repeat(300_000)), [200, `300000 ${300_000 * 120 % 65_521} 1000`])
      assertEquals(await calmly('byob', 'x'.repeat(1500)), [200, `1500 ${1500 * 120 % 65_521} 1000`])
      assertEquals(await calmly('byob', chunks(3, 20, 5).body), [200, '15 15 1000'])
    })
  }

  test('pieces are there as they come, and the answer leaves beside them', async () => {
    const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>()
    const writer = writable.getWriter()
    const encoder = new TextEncoder()
    const first = writer.write(encoder.encode('a'))
    const response = await post('shout', readable, {}, 'patient')
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    await first
    assertEquals((await reader.read()).value, 'A')
    for (const letter of 'bcdef') {
      await writer.write(encoder.encode(letter))
      assertEquals((await reader.read()).value, letter.toUpperCase())
    }
    await writer.close()
    assertEquals((await reader.read()).done, true)
  })

  test('a client is waited for, for as long as a stream may be idle', async () => {
    // Longer in all than timeoutMs and streamIdleMs.
    const { state, body } = chunks(8, 400, 10)
    assertEquals(await answer('text', body), [200, '80'])
    assertEquals(state.given, 8)
  })

  test('a handler that does not read is sent nothing, and one that stops no more than a window', async () => {
    for (const [what, text] of [['unread', 'unread'], ['first', 'first true'], ['cancels', 'cancelled']]) {
      const { state, body } = chunks(1000)
      assertEquals(await calmly(what!, body), [200, text])
      await until(`${what} gives it up`, () => state.cancelled)
      assert(state.given * CHUNK <= 2 * WHOLE_BYTES + 3 * WINDOW, `${what}: ${state.given} chunks`)
    }
    const { state, body } = chunks(1000)
    const stuck = answer('never', body)
    assertEquals((await stuck)[0], 504)
    assert(state.cancelled && state.given * CHUNK <= 2 * WHOLE_BYTES + 2 * WINDOW, `${state.given} chunks`)
  })

  test('a handler that computes ends with its time, however much is to come', async () => {
    const begin = performance.now()
    assertEquals((await answer('spins', chunks(1_000_000).body))[0], 504)
    assert(performance.now() - begin < 30_000)
    assertEquals(await answer('text', 'x'), [200, '1'])
  })

  test('a body over its limits ends with the status of that limit', async () => {
    assertEquals((await post('sum', 'x', { 'content-length': `${LIMIT + 1}` })).status, 413)
    assertEquals((await post('sum', chunks(1 + LIMIT / CHUNK).body)).status, 413)
    const silent = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
    })
    assertEquals((await post('sum', silent)).status, 408)
    assertEquals((await post('sum', chunks(1_000_000, 500, 1).body)).status, 408)
    const broken = (after: number) => {
      let left = after
      return new ReadableStream<Uint8Array<ArrayBuffer>>({
        async pull(controller) {
          await new Promise((done) => setTimeout(done, 20))
          if (left-- === 0) throw new TypeError('gone')
          controller.enqueue(new Uint8Array(10))
        },
      })
    }
    assertEquals((await post('sum', broken(5))).status, 400)
    assertEquals((await post('sum', broken(0))).status, 400)
    assertEquals(await answer('caught', broken(3)), [200, 'caught The request body broke off'])
    // Who goes on without its client has its time.
    assertEquals((await post('ignores', broken(3))).status, 400)
    assertEquals(await answer('text', 'x'), [200, '1'])
  })

  test('many bodies are on their way through one worker', async () => {
    const sums = await Promise.all(
      Array.from({ length: 24 }, () => calmly('sum', chunks(20, 2).body)),
    )
    for (const sum of sums) assertEquals(sum, [200, sumOf(20)])
  })
}
