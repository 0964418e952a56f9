/** A program's side of a WebSocket, whose other end the host has. It runs inside the machine, in every runtime. */
import { MAX_VALUE, SOCKET_WINDOW, toSocketCost } from '../calls/protocol.ts'
import { isCloseCode, REASON_BYTES } from '../calls/close_code.ts'
import type { Exchanges } from './exchanges.ts'

const CONNECTING = 0, OPEN = 1, CLOSING = 2, CLOSED = 3

type Kind = 'text' | 'binary'
type Data = string | ArrayBufferView<ArrayBuffer> | ArrayBuffer
type Listener = ((event: Event) => unknown) | null

/** What a socket says by its exchange. */
interface Line {
  send(kind: Kind, bytes: Uint8Array<ArrayBuffer>): void
  close(code: number, reason: string): void
  /** A listener threw: the request ends with that. */
  fail(error: unknown): void
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Has the members of `CloseEvent`, which not every runtime has. */
class SocketCloseEvent extends Event {
  readonly code: number
  readonly reason: string
  readonly wasClean: boolean

  constructor(code: number, reason: string) {
    super('close')
    this.code = code
    this.reason = reason
    this.wasClean = code !== 1006
  }
}

/** A WebSocket of a request, as `Deno.upgradeWebSocket` gives one. Messages have at most 1 MiB. */
export class GuestSocket extends EventTarget {
  static readonly CONNECTING = CONNECTING
  static readonly OPEN = OPEN
  static readonly CLOSING = CLOSING
  static readonly CLOSED = CLOSED
  readonly CONNECTING = CONNECTING
  readonly OPEN = OPEN
  readonly CLOSING = CLOSING
  readonly CLOSED = CLOSED
  readonly extensions = ''
  readonly url: string
  readonly protocol: string
  binaryType: 'blob' | 'arraybuffer' = 'blob'
  onopen: Listener = null
  onmessage: Listener = null
  onclose: Listener = null
  onerror: Listener = null
  #state = CONNECTING
  #accepted = false
  #line: Line | null = null
  /** What may be sent before the host has passed on what was. */
  #credit = SOCKET_WINDOW
  #waiting: (readonly [kind: Kind, bytes: Uint8Array<ArrayBuffer>])[] = []
  #buffered = 0
  #closing: readonly [code: number, reason: string] | null = null
  readonly #guarded = new WeakMap<object, (event: Event) => void>()

  constructor(url: string, protocol: string) {
    super()
    this.url = url
    this.protocol = protocol
  }

  get readyState(): number {
    return this.#state
  }

  /** Bytes that wait until the client has taken what was sent before. */
  get bufferedAmount(): number {
    return this.#buffered
  }

  /** As in Workers: messages may be sent from here on, and leave once it is open. */
  accept(): void {
    this.#accepted = true
  }

  /** Sends a message. Throws `InvalidStateError` before it is open, `RangeError` for more than 1 MiB. */
  send(data: Data): void {
    if (this.#state === CONNECTING && !this.#accepted) {
      throw new DOMException('Cannot send: the socket is not open', 'InvalidStateError')
    }
    if (this.#state > OPEN) return
    const isText = typeof data === 'string'
    const bytes = isText ? encoder.encode(data) : toBytes(data)
    if (bytes.length > MAX_VALUE) {
      throw new RangeError(`Cannot send: a message of ${bytes.length} bytes, want at most ${MAX_VALUE}`)
    }
    this.#buffered += bytes.length
    this.#waiting.push([isText ? 'text' : 'binary', bytes])
    this.#flush()
  }

  /** Closes it behind what was sent. Throws `InvalidAccessError` for a code that nobody may send, `SyntaxError` for a long reason. */
  close(code = 1000, reason = ''): void {
    if (!isCloseCode(code)) {
      throw new DOMException(
        `Cannot close: the code is ${code}, want 1000 or 3000 to 4999, or one of RFC 6455 for servers`,
        'InvalidAccessError',
      )
    }
    if (encoder.encode(reason).length > REASON_BYTES) {
      throw new DOMException(`Cannot close: the reason is over ${REASON_BYTES} bytes`, 'SyntaxError')
    }
    if (this.#state >= CLOSING) return
    this.#state = CLOSING
    this.#closing = [code, reason]
    this.#flush()
  }

  /** What a listener throws ends the request; so does the promise of one that rejects. */
  override addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void {
    if (listener === null) return
    let guarded = this.#guarded.get(listener)
    if (guarded === undefined) {
      guarded = (event) =>
        this.#call(() =>
          typeof listener === 'function' ? listener.call(this, event) : listener.handleEvent(event)
        )
      this.#guarded.set(listener, guarded)
    }
    super.addEventListener(type, guarded, options)
  }

  override removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void {
    const guarded = listener === null ? undefined : this.#guarded.get(listener)
    if (guarded !== undefined) super.removeEventListener(type, guarded, options)
  }

  /** Runs it in an exchange, until it is closed. Rejects with what a listener threw. */
  static async run(socket: GuestSocket, exchanges: Exchanges): Promise<void> {
    const id = await exchanges.start()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.#line = {
      send: (kind, bytes) => exchanges.send(id, [kind], bytes),
      close: (code, reason) => exchanges.send(id, ['close', code, reason]),
      fail: reject,
    }
    exchanges.send(id, ['upgrade', socket.protocol], undefined, (told, body) => {
      switch (told[0]) {
        case 'open':
          socket.#open()
          return false
        case 'text':
          socket.#emit(new MessageEvent('message', { data: decoder.decode(body) }))
          return false
        case 'binary':
          socket.#emit(new MessageEvent('message', { data: socket.#toData(body) }))
          return false
        case 'more':
          socket.#credit += told[1]
          socket.#flush()
          return false
        default:
          // The request ends behind what the listeners do at once.
          socket.#end(told[0] === 'close' ? told[1] : 1006, told[0] === 'close' ? told[2] : '')
          resolve()
          return true
      }
    })
    try {
      await promise
    } finally {
      socket.#state = CLOSED
      socket.#line = null
      exchanges.finish(id)
    }
  }

  #open(): void {
    if (this.#state === CONNECTING) this.#state = OPEN
    this.#emit(new Event('open'))
    this.#flush()
  }

  #flush(): void {
    const line = this.#line
    if (line === null || this.#state === CONNECTING) return
    while (this.#waiting.length > 0 && this.#credit > 0) {
      const [kind, bytes] = this.#waiting.shift()!
      this.#credit -= toSocketCost(bytes.length)
      this.#buffered -= bytes.length
      line.send(kind, bytes)
    }
    if (this.#waiting.length > 0 || this.#closing === null) return
    const [code, reason] = this.#closing
    this.#closing = null
    line.close(code, reason)
  }

  #end(code: number, reason: string): void {
    this.#state = CLOSED
    this.#waiting = []
    this.#emit(new SocketCloseEvent(code, reason))
  }

  #toData(body: Uint8Array<ArrayBuffer>): unknown {
    const bytes = body.slice()
    return this.binaryType === 'blob' ? new Blob([bytes]) : bytes.buffer
  }

  #emit(event: Event): void {
    const listener = this[`on${event.type}` as 'onopen']
    if (typeof listener === 'function') this.#call(() => listener.call(this, event))
    this.dispatchEvent(event)
  }

  #call(listener: () => unknown): void {
    const line = this.#line
    const fail = (error: unknown) => line?.fail(error)
    try {
      const given = listener()
      if (given instanceof Promise) given.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}

function toBytes(data: unknown): Uint8Array<ArrayBuffer> {
  if (data instanceof ArrayBuffer) return new Uint8Array(data.slice(0))
  if (ArrayBuffer.isView(data)) {
    const { buffer, byteOffset, byteLength } = data
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength).slice()
  }
  const what = data === null ? 'null' : typeof data
  throw new TypeError(`Cannot send ${what}: want text, an ArrayBuffer or a view of one`)
}
