/** Both sides of a WebSocket in one process, and a program that says whatever it likes. */
import { assert, assertEquals, assertThrows } from '@std/assert'
import { MAX_VALUE, type Message, SOCKET_WINDOW } from '../../src/reach/calls/protocol.ts'
import { Exchanges } from '../../src/reach/guest/exchanges.ts'
import { GuestSocket } from '../../src/reach/guest/socket.ts'
import type { StreamLimits } from '../../src/reach/streams/limits.ts'
import { RequestChannel } from '../../src/reach/streams/request_channel.ts'
import { type HostSocket, MAX_EMPTY } from '../../src/reach/streams/socket_stream.ts'
import { settle } from './pair.ts'

const encoder = new TextEncoder()
const LIMITS: StreamLimits = { streamMs: 60_000, streamIdleMs: 60_000, streamBytes: 1 << 30 }

/** The host's end, whose client is the test. */
class FakeSocket extends EventTarget implements HostSocket {
  readyState: number = WebSocket.CONNECTING
  bufferedAmount = 0
  binaryType: BinaryType = 'blob'
  readonly sent: unknown[] = []
  closed: readonly [code: number | undefined, reason: string | undefined] | null = null

  send(data: unknown): void {
    this.sent.push(data)
  }

  close(code?: number, reason?: string): void {
    this.closed = [code, reason]
    this.readyState = WebSocket.CLOSING
  }

  open(): void {
    this.readyState = WebSocket.OPEN
    this.dispatchEvent(new Event('open'))
  }

  give(data: string | ArrayBuffer): void {
    this.dispatchEvent(new MessageEvent('message', { data }))
  }

  /** The client closed it, or answers. */
  end(code: number, reason = ''): void {
    this.readyState = WebSocket.CLOSED
    this.dispatchEvent(new CloseEvent('close', { code, reason }))
  }
}

function host(limits: Partial<StreamLimits> = {}) {
  const socket = new FakeSocket()
  const state = { full: false, broke: [] as unknown[], extended: 0 }
  const said: { head: unknown[]; size: number }[] = []
  let guest: (message: Message) => void = () => {}
  const channel = new RequestChannel({
    conversation: null,
    limits: { ...LIMITS, ...limits },
    begin: () => {},
    upgrade: () => socket,
    broke: (error) => void state.broke.push(error),
  })
  const say = (message: Message) => {
    if (state.full) return false
    said.push({ head: JSON.parse(new TextDecoder().decode(message.head)), size: message.body.length })
    queueMicrotask(() => guest(message))
    return true
  }
  const hear = (message: Message) => channel.hear(message, say, (ms) => void (state.extended = ms))
  return {
    socket,
    state,
    said,
    channel,
    hear,
    listen: (to: typeof guest) => void (guest = to),
    tell: (head: unknown, size = 0) =>
      hear({ id: 1, head: encoder.encode(JSON.stringify(head)), body: new Uint8Array(size) }),
    over: () => channel.stream!.over((failure) => failure ?? 'the machine ended'),
  }
}

/** Both sides, open. */
async function pair(limits: Partial<StreamLimits> = {}) {
  const side = host(limits)
  const exchanges = new Exchanges({
    send: (message) => queueMicrotask(() => side.hear(message)),
    listen: (listener) => side.listen(listener),
  })
  exchanges.begin(() => false)
  const guest = new GuestSocket('ws://x/', '')
  guest.binaryType = 'arraybuffer'
  const run = GuestSocket.run(guest, exchanges)
  run.catch(() => {})
  await settle()
  side.socket.open()
  await settle()
  return { ...side, guest, run }
}

Deno.test('messages and the close pass both ways', async () => {
  const { socket, guest, run, over, state } = await pair()
  const got: unknown[] = []
  guest.addEventListener('message', (event) => void got.push((event as MessageEvent).data))
  guest.onclose = (event) => void got.push([(event as CloseEvent).code, (event as CloseEvent).reason])
  assertEquals(guest.readyState, WebSocket.OPEN)
  guest.send('text')
  guest.send(new Uint8Array([1, 2]).buffer)
  guest.send(new DataView(new Uint8Array([0, 3]).buffer, 1))
  socket.give('é')
  socket.give(new Uint8Array([9]).buffer)
  await settle()
  assertEquals(socket.sent, ['text', new Uint8Array([1, 2]), new Uint8Array([3])])
  socket.end(3005, 'bye')
  await run
  assertEquals(got, ['é', new Uint8Array([9]).buffer, [3005, 'bye']])
  assertEquals(guest.readyState, WebSocket.CLOSED)
  over()
  assertEquals(state.broke, [])
})

Deno.test('a program waits for the room that its client makes, and its close waits with it', async () => {
  const { socket, guest, run, over } = await pair()
  socket.bufferedAmount = 1
  for (let i = 0; i < 100; i++) guest.send('x'.repeat(60_000))
  guest.close(3000, 'sent all')
  await settle()
  const first = socket.sent.length
  assert(first >= SOCKET_WINDOW / 60_256 && first <= SOCKET_WINDOW / 60_256 + 1, `${first}`)
  assertEquals(guest.bufferedAmount, (100 - first) * 60_000)
  assertEquals(socket.closed, null)
  socket.bufferedAmount = 0
  for (let round = 0; round < 100 && socket.closed === null; round++) await settle()
  assertEquals([socket.sent.length, socket.closed], [100, [3000, 'sent all']])
  socket.end(3000, 'sent all')
  await run
  over()
})

Deno.test('a program cannot send before it is open, nor too much, nor close by a code of the protocol', async () => {
  const closed = new GuestSocket('', '')
  assertThrows(() => closed.send('x'), DOMException, 'not open')
  const { guest, socket, run, over } = await pair()
  assertThrows(() => guest.send('x'.repeat(MAX_VALUE + 1)), RangeError, '1048577 bytes')
  assertThrows(() => guest.send({} as unknown as string), TypeError, 'Cannot send object')
  for (const code of [999, 1005, 1006, 1015, 2999, 5000, NaN]) {
    assertThrows(() => guest.close(code), DOMException, 'the code is')
  }
  assertThrows(() => guest.close(1000, 'x'.repeat(124)), DOMException, 'reason')
  socket.end(1000)
  await run
  over()
  guest.send('nobody hears')
})

Deno.test('what a listener throws, or rejects with, ends the request', async () => {
  for (
    const fail of [() => Promise.reject(new RangeError('no')), () => {
      throw new RangeError('no')
    }]
  ) {
    const { guest, socket, run, over, state } = await pair()
    guest.addEventListener('message', fail)
    socket.give('x')
    const error = await run.then(() => null, (error) => error)
    assert(error instanceof RangeError)
    over()
    assertEquals(socket.closed, [1011, 'Internal error'])
    assertEquals(state.broke, ['the machine ended'])
    const removed = await pair()
    removed.guest.addEventListener('message', fail)
    removed.guest.removeEventListener('message', fail)
    removed.socket.give('x')
    await settle()
    assertEquals(removed.guest.readyState, WebSocket.OPEN)
    removed.over()
  }
})

Deno.test('a program that breaks the protocol is ended with 1011', () => {
  const cases: ((side: ReturnType<typeof host>) => void)[] = [
    ({ tell }) => tell(['piece'], 5),
    ({ tell }) => tell('text'),
    ({ hear }) => hear({ id: 1, head: encoder.encode('[['), body: new Uint8Array(0) }),
    ({ tell }) => tell(['upgrade', '']),
    // It sends without the room for that: the client takes nothing.
    ({ tell, socket }) => {
      socket.bufferedAmount = 1
      for (let i = 0; i < 40; i++) tell(['binary'], 60_000)
    },
    ({ tell }) => {
      for (let i = 0; i <= MAX_EMPTY; i++) tell(['text'])
    },
  ]
  for (const break_ of cases) {
    const side = host()
    side.tell(['upgrade', ''])
    side.socket.open()
    break_(side)
    assertEquals(side.socket.closed, [1011, 'Internal error'])
    assert(side.channel.signal.aborted)
    assert(side.socket.sent.length <= MAX_EMPTY)
    side.over()
    assertEquals(side.state.broke.length, 1)
  }
})

Deno.test('a code that is none is 1011, and a client that does not answer keeps no machine', async () => {
  for (const [code, sent] of [[1006, 1011], ['x', 1011], [1000, 1000], [4999, 4999]] as const) {
    const side = host()
    side.tell(['upgrade', ''])
    side.socket.open()
    side.tell(['close', code, 'why'])
    assertEquals(side.socket.closed, [sent, 'why'])
    side.over()
    assertEquals(side.state.broke, [])
  }
  const side = host()
  side.tell(['upgrade', ''])
  side.socket.open()
  side.tell(['close', 1000, ''])
  while (side.said.at(-1)?.head[0] !== 'close') await settle()
  assertEquals(side.said.at(-1)!.head, ['close', 1006, ''])
  while (!side.channel.signal.aborted) await settle()
  side.over()
})

Deno.test('a client that sends what the program does not read is told 1013, and holds a window of the host', () => {
  const side = host()
  side.tell(['upgrade', ''])
  side.socket.open()
  side.state.full = true
  let given = 0
  for (; side.socket.closed === null; given++) side.socket.give('x'.repeat(1000))
  assertEquals(side.socket.closed, [1013, 'Too many messages wait'])
  assert(given <= SOCKET_WINDOW / 1256 + 1, `${given}`)
  side.over()
})

Deno.test('a message and all of them have a bound, and so has the time', async () => {
  const large = host()
  large.tell(['upgrade', ''])
  large.socket.open()
  large.socket.give('é'.repeat(MAX_VALUE / 2 + 1))
  assertEquals(large.socket.closed, [1009, `Over ${MAX_VALUE} bytes`])
  assertEquals(large.said.map(({ head }) => head[0]), ['open', 'close'])
  large.over()
  for (const way of ['in', 'out']) {
    const side = host({ streamBytes: 100 })
    side.tell(['upgrade', ''])
    side.socket.open()
    const pass = (size: number) =>
      way === 'in' ? side.socket.give(new ArrayBuffer(size)) : side.tell(['binary'], size)
    pass(100)
    assertEquals(side.socket.closed, null)
    pass(1)
    assertEquals(side.socket.closed, [1009, 'streamBytes'])
    side.over()
  }
  for (const limit of ['streamMs', 'streamIdleMs'] as const) {
    const side = host({ [limit]: 30 })
    side.tell(['upgrade', ''])
    assertEquals(side.state.extended, (limit === 'streamMs' ? 30 : LIMITS.streamMs) + 1000)
    side.socket.open()
    while (side.socket.closed === null) await settle()
    assertEquals(side.socket.closed, [1001, limit])
    assert(side.channel.signal.aborted)
    side.over()
    assert(String(side.state.broke[0]).includes(limit))
  }
})

Deno.test('a warm-up, which nobody hears, closes its socket', async () => {
  let listener: (message: Message) => void = () => {}
  const exchanges = new Exchanges({
    send: () =>
      queueMicrotask(() => listener({ id: 0, head: encoder.encode('{}'), body: new Uint8Array(0) })),
    listen: (hear) => void (listener = hear),
  })
  exchanges.begin(() => false)
  const guest = new GuestSocket('', '')
  let code = 0
  guest.onclose = (event) => void (code = (event as CloseEvent).code)
  await GuestSocket.run(guest, exchanges)
  assertEquals(code, 1006)
})
