/** Bodies of requests on their way into a machine: what goes at once, and what a program that says anything can make of the rest. */
import { Buffer } from 'node:buffer'
import { assert, assertEquals, assertRejects } from '@std/assert'
import { beginBody, BodySource, isWhole, WHOLE_BYTES } from '../../src/context/body_source.ts'
import { BodyStream } from '../../src/reach/streams/body_stream.ts'
import { Credit, sendPieces } from '../../src/reach/calls/pieces.ts'
import { type Message, PIECE, WINDOW } from '../../src/reach/calls/protocol.ts'
import { receiveBody } from '../../src/reach/guest/body.ts'
import { toByteStream } from '../../src/reach/guest/byte_stream.ts'
import { Exchanges } from '../../src/reach/guest/exchanges.ts'
import { until } from '../until.ts'
import { settle } from './pair.ts'

const LIMITS = { streamMs: 60_000, streamIdleMs: 60_000, streamBytes: 1 }
const encoder = new TextEncoder()
const decoder = new TextDecoder()

const ERRORS = {
  tooLarge: (bytes: number) => new RangeError(`${bytes} bytes`),
  brokeOff: (cause: unknown) => new TypeError('broke off', { cause }),
}

/** A client that sends when it is asked. */
function client(limit = Infinity) {
  const state = { asked: 0, cancelled: false }
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    pull: () => void state.asked++,
    cancel: () => void (state.cancelled = true),
  }, { highWaterMark: 0 })
  const send = (bytes: number) => controller.enqueue(new Uint8Array(bytes).fill(7))
  return {
    state,
    send,
    close: () => controller.close(),
    fail: (error: unknown) => controller.error(error),
    source: new BodySource(body, limit, ERRORS),
  }
}

/** The host's side, and what it said and did. */
function open(source: BodySource, given: Partial<ConstructorParameters<typeof BodyStream>[0]> = {}) {
  const said: { head: unknown[]; bytes: number }[] = []
  const state = { full: false, extended: [] as number[], waits: [] as boolean[], failed: null as unknown }
  const stream = new BodyStream({
    id: 5,
    source,
    limits: LIMITS,
    timeoutMs: 700,
    say: ({ head, body }: Message) => {
      if (state.full) return false
      said.push({ head: JSON.parse(decoder.decode(head)), bytes: body.length })
      return true
    },
    extend: (ms) => void state.extended.push(ms),
    tooSlow: (limit) => new DOMException(limit, 'TimeoutError'),
    failed: (error) => void (state.failed = error),
    waits: (yes) => void state.waits.push(yes),
    moved: () => {},
    ...given,
  })
  const hear = (head: unknown) =>
    stream.hear({
      id: 5,
      head: encoder.encode(typeof head === 'string' ? head : JSON.stringify(head)),
      body: new Uint8Array(0),
    })
  const sent = () => said.reduce((sum, { bytes }) => sum + bytes, 0)
  return { stream, said, state, hear, sent }
}

Deno.test('a body that a busy host takes up long after its end is extended by no time below 0', async () => {
  const late = client()
  const { state } = open(late.source, { limits: { ...LIMITS, streamMs: -10_000 } })
  await settle()
  assert(state.extended.length > 0)
  assertEquals(state.extended.filter((ms) => ms < 0), [])
  await until('it fails', () => state.failed !== null)
  assertEquals((state.failed as Error).message, 'streamMs')
})

Deno.test('a body of known small length goes whole', () => {
  assert(isWhole(new Headers({ 'content-length': `${WHOLE_BYTES}` })))
  assert(!isWhole(new Headers({ 'content-length': `${WHOLE_BYTES + 1}` })))
  assert(!isWhole(new Headers()))
})

Deno.test('what comes soon goes with the request, and all of a body that ends there', async () => {
  const short = client()
  const begun = beginBody(short.source)
  short.send(10)
  short.send(20)
  short.close()
  assertEquals(await begun.then(({ first, rest }) => [first.length, rest]), [30, null])

  const slow = client()
  const waited = beginBody(slow.source)
  slow.send(10)
  const { first, rest } = await waited
  assertEquals(first.length, 10)
  slow.send(5)
  assertEquals((await rest!.take())!.length, 5)

  const large = client()
  const much = beginBody(large.source)
  for (let chunk = 0; chunk < 8; chunk++) large.send(PIECE)
  assertEquals((await much).first.length, WHOLE_BYTES)
  assertEquals((await (await much).rest!.take())!.length, PIECE)
})

Deno.test('a body over its limit, or whose client goes, fails as it is wanted', async () => {
  const large = client(15)
  const begun = beginBody(large.source)
  large.send(10)
  large.send(6)
  await assertRejects(() => begun, RangeError, '16 bytes')
  assert(large.state.cancelled)
  const gone = client()
  const other = beginBody(gone.source)
  gone.fail(new Error('reset'))
  await assertRejects(() => other, TypeError, 'broke off')
})

Deno.test('no more than a window leaves ahead of a program, and one chunk waits', async () => {
  const { source, send, state } = client()
  const { sent, hear } = open(source)
  for (let chunk = 0; chunk < 40; chunk++) send(PIECE)
  await settle()
  assertEquals(sent(), WINDOW)
  hear(['more', PIECE])
  await settle()
  assertEquals(sent(), WINDOW + PIECE)
  assert(state.asked <= 8, `${state.asked}`)
})

Deno.test('a program cannot ask for more than it was sent', async () => {
  const { source, send } = client()
  const { sent, hear, said } = open(source)
  for (let chunk = 0; chunk < 40; chunk++) send(PIECE)
  await settle()
  const odd = [
    ['more', 1e12],
    ['more', -1],
    ['more', 0.5],
    ['more', '9'],
    ['more', NaN],
    ['more'],
    ['piece'],
    ['end'],
    ['body'],
    ['answer'],
    {},
    7,
    null,
    [],
    'no JSON',
    '["more",1e400]',
    '['.repeat(5000),
  ]
  for (const head of odd) hear(head)
  await settle()
  assertEquals([sent(), said.every(({ head }) => head[0] === 'piece')], [WINDOW, true])
  for (let time = 0; time < 10_000; time++) hear(['more', WINDOW])
  await settle()
  assert(sent() <= 2 * WINDOW, `${sent()}`)
})

Deno.test('a machine without room is told later, and one that ended never', async () => {
  const { source, send, state: sender } = client()
  const { stream, said, state } = open(source)
  state.full = true
  send(10)
  await settle()
  assertEquals(said.length, 0)
  state.full = false
  await settle()
  assertEquals(said.map(({ bytes }) => bytes), [10])
  state.full = true
  send(10)
  await settle()
  stream.over()
  state.full = false
  await settle()
  assertEquals([said.length, sender.cancelled], [1, true])
})

Deno.test('the time is the client’s while the program waits for it, and else the program’s', async () => {
  const { source, send } = client()
  const { hear, state } = open(source)
  await settle()
  assert(state.extended.at(-1)! > 50_000 && state.waits.at(-1))
  send(10)
  await settle()
  assertEquals([state.extended.at(-1), state.waits.at(-1)], [700, false])
  hear(['more', 4])
  assertEquals(state.extended.at(-1), 700)
  hear(['more', 6])
  assert(state.extended.at(-1)! > 50_000 && state.waits.at(-1))
})

Deno.test('a client that is too slow, goes away or sends too much ends its body, and the program is told', async () => {
  const ends: [string, (sender: ReturnType<typeof client>) => void, Partial<typeof LIMITS>][] = [
    ['streamIdleMs', () => {}, { streamIdleMs: 30 }],
    ['streamMs', () => {}, { streamMs: 30 }],
    ['broke off', ({ fail }) => fail(new Error('reset')), {}],
    ['31 bytes', ({ send }) => send(31), {}],
  ]
  for (const [message, end, limits] of ends) {
    const sender = client(30)
    const { said, state } = open(sender.source, { limits: { ...LIMITS, ...limits } })
    end(sender)
    for (let time = 0; time < 20 && state.failed === null; time++) await settle()
    await settle()
    assertEquals([(state.failed as Error).message, said.map(({ head }) => head[0])], [message, ['error']])
    assertEquals(state.extended.at(-1), 700)
  }
})

Deno.test('a program reads what came first, then the rest, and asks for it only then', async () => {
  const sender = client()
  const heard: string[] = []
  let stream: BodyStream | null = null
  let hear: (message: Message) => void = () => {}
  const exchanges = new Exchanges({
    listen: (listener) => hear = listener,
    send: (message) =>
      queueMicrotask(() => {
        heard.push(decoder.decode(message.head))
        if (stream !== null) return stream.hear(message)
        const say = (message: Message) => {
          queueMicrotask(() => hear(message))
          return true
        }
        const parts = { limits: LIMITS, timeoutMs: 1, extend() {}, moved() {}, tooSlow: () => null }
        stream = new BodyStream({ ...parts, id: message.id, source: sender.source, say })
      }),
  })
  exchanges.begin(() => false)
  const body = receiveBody(exchanges, new Uint8Array(3))
  await settle()
  assertEquals(heard, [])
  const reader = body.getReader()
  assertEquals((await reader.read()).value!.length, 3)
  assertEquals(heard, [])
  const next = reader.read()
  await settle()
  assertEquals(heard, ['["body"]'])
  sender.send(10)
  assertEquals((await next).value!.length, 10)
  const last = reader.read()
  await settle()
  assertEquals(heard, ['["body"]', '["more",10]'])
  sender.fail(new Error('reset'))
  await assertRejects(() => last, TypeError, 'broke off')
})

Deno.test('a piece stays as it was sent, whoever has the buffer, and however often it is used', async () => {
  for (const buffer of [new Uint8Array(PIECE), Buffer.alloc(PIECE)]) {
    const sent: Uint8Array[] = []
    const body = async function* () {
      for (const byte of [1, 2, 3]) yield buffer.fill(byte)
    }
    await sendPieces(body(), new Credit(), (piece) => void sent.push(piece))
    assertEquals(sent.map(([byte]) => byte), [1, 2, 3])
  }
})

Deno.test('a stream of the host fills the buffers of its reader, and gives the last one back', async () => {
  const shared = new Uint8Array(20).fill(3)
  const pieces = [shared.subarray(4, 9), shared.subarray(10, 12)]
  let cancelled = 0
  const make = () => {
    const left = [...pieces]
    return toByteStream(() => Promise.resolve(left.shift() ?? null), () => void cancelled++)
  }
  const reader = make().getReader({ mode: 'byob' })
  const lengths: number[] = []
  let buffer = new ArrayBuffer(3)
  for (;;) {
    const { value, done } = await reader.read(new Uint8Array(buffer))
    buffer = value!.buffer
    if (done) break
    assert(value.every((byte) => byte === 3))
    lengths.push(value.length)
  }
  assertEquals([lengths, buffer.byteLength], [[3, 2, 2], 3])
  // What lies beside a piece stays whose it was.
  assertEquals(shared, new Uint8Array(20).fill(3))
  assertEquals((await Array.fromAsync(make())).map(({ length }) => length), [5, 2])
  const other = make().getReader({ mode: 'byob' })
  await other.read(new Uint8Array(1))
  await other.cancel()
  assertEquals(cancelled, 1)
})
