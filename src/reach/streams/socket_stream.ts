/** A WebSocket whose program runs in a machine: the host has the socket, and passes messages on. What comes may be anybody's. */
import { isCloseCode, REASON_BYTES } from '../calls/close_code.ts'
import { MAX_VALUE, type Message, SOCKET_WINDOW, toSocketCost } from '../calls/protocol.ts'
import { END_MS, StreamError } from './answer_stream.ts'
import { StreamClock, StreamLimitError, type StreamOptions } from './limits.ts'

/** The part of a WebSocket that is used here. */
export type HostSocket = Pick<
  WebSocket,
  'readyState' | 'bufferedAmount' | 'binaryType' | 'send' | 'close' | 'addEventListener'
>

/** Milliseconds between looks at what a side has not taken. */
const LOOK_MS = 10
/** Messages without a byte that a program may send: the socket's buffer does not count them. */
export const MAX_EMPTY = 1 << 16

const NOTHING = new Uint8Array(0)
const encoder = new TextEncoder()
const decoder = new TextDecoder()

export class SocketStream {
  readonly #options: StreamOptions
  readonly #socket: HostSocket
  readonly #clock: StreamClock
  /** Messages that the machine has no room for yet. */
  readonly #queue: Message[] = []
  #queued = 0
  #sent = 0
  #received = 0
  #empty = 0
  /** Room that the program used, and that was not given back. */
  #owed = 0
  #look: ReturnType<typeof setTimeout> | undefined
  #again: ReturnType<typeof setTimeout> | undefined
  #last: ReturnType<typeof setTimeout> | undefined
  #failure: unknown
  /** `closing`: the program closed it, and its client did not answer yet. */
  #state: 'open' | 'closing' | 'closed' | 'failed' = 'open'

  constructor(socket: HostSocket, options: StreamOptions) {
    this.#options = options
    this.#socket = socket
    this.#clock = new StreamClock(options.limits, (error) => this.fail(error))
    options.extend(options.limits.streamMs + END_MS)
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('open', () => this.#tell(['open']))
    socket.addEventListener('message', (event) => this.#pass((event as MessageEvent).data))
    socket.addEventListener('error', (event) => event.preventDefault())
    socket.addEventListener('close', (event) => {
      const { code, reason } = event as CloseEvent
      // Deno has 0 for a connection that broke while it was closed.
      this.#end(code === 0 ? 1006 : code, reason)
    })
  }

  get id(): number {
    return this.#options.id
  }

  /** Why it was ended by the host; undefined where it was not. */
  get failure(): unknown {
    return this.#failure
  }

  /** A request that becomes a WebSocket has no body. */
  move(): void {}

  /** Takes a message of its exchange. */
  hear({ head, body }: Message): void {
    if (this.#state !== 'open') return
    const [verb, code, reason] = toWords(head)
    if (verb === 'close') return this.#closeAsTold(code, reason)
    if (verb !== 'text' && verb !== 'binary') return this.fail(new StreamError('The program said no message'))
    this.#owed += toSocketCost(body.length)
    if (this.#owed >= SOCKET_WINDOW + toSocketCost(MAX_VALUE)) {
      return this.fail(new StreamError('The program sent more than it was given room for'))
    }
    if (body.length === 0 && ++this.#empty > MAX_EMPTY) {
      return this.fail(new StreamError(`The program sent more than ${MAX_EMPTY} empty messages`))
    }
    this.#sent += body.length
    if (this.#isOver(this.#sent)) return
    this.#clock.move()
    if (this.#socket.readyState === WebSocket.OPEN) {
      this.#socket.send(verb === 'text' ? decoder.decode(body) : body.slice())
    }
    this.#giveRoom()
  }

  /** Ends its request, and closes the socket. */
  fail(error: unknown): void {
    if (this.#state === 'closed' || this.#state === 'failed') return
    this.#failure = error
    this.#state = 'failed'
    this.#stop()
    if (!(error instanceof StreamLimitError)) this.#close(1011, 'Internal error')
    else this.#close(error.limit.name === 'streamBytes' ? 1009 : 1001, error.limit.name)
    this.#options.callOff()
  }

  /** Its request has ended. Where that was before its own end, the socket is closed with 1011, for what `toError` makes of its failure. */
  over(toError: (failure: unknown) => unknown): void {
    const wasOpen = this.#state === 'open'
    const failed = this.#state === 'failed'
    this.#state = 'closed'
    this.#stop()
    clearTimeout(this.#last)
    if (wasOpen) this.#close(1011, 'Internal error')
    if (wasOpen || failed) this.#options.broke?.(toError(this.#failure))
  }

  #pass(data: string | ArrayBuffer): void {
    if (this.#state !== 'open' && this.#state !== 'closing') return
    const isText = typeof data === 'string'
    // A UTF-16 unit takes at least one byte.
    const isLarge = (isText ? data.length : data.byteLength) > MAX_VALUE
    const body = isLarge ? NOTHING : isText ? encoder.encode(data) : new Uint8Array(data)
    if (isLarge || body.length > MAX_VALUE) return this.#refuse(1009, `Over ${MAX_VALUE} bytes`)
    this.#received += body.length
    if (this.#isOver(this.#received)) return
    this.#clock.move()
    const cost = toSocketCost(body.length)
    // The program does not read what came before.
    if (this.#queued > 0 && this.#queued + cost > SOCKET_WINDOW) {
      return this.#refuse(1013, 'Too many messages wait')
    }
    this.#tell([isText ? 'text' : 'binary'], body)
  }

  #isOver(bytes: number): boolean {
    const { streamBytes } = this.#options.limits
    if (bytes <= streamBytes) return false
    this.fail(new StreamLimitError('streamBytes', streamBytes))
    return true
  }

  /** The program may send as much again once the client has taken all. */
  #giveRoom(): void {
    if (this.#look !== undefined || this.#owed < SOCKET_WINDOW / 4) return
    if (this.#socket.bufferedAmount > 0) {
      this.#look = setTimeout(() => {
        this.#look = undefined
        this.#giveRoom()
      }, LOOK_MS)
      return
    }
    const owed = this.#owed
    this.#owed = 0
    this.#tell(['more', owed])
  }

  #closeAsTold(code: unknown, reason: unknown): void {
    this.#state = 'closing'
    this.#close(isCloseCode(code) ? code : 1011, typeof reason === 'string' ? reason : '')
    // A client that does not answer keeps no machine.
    this.#last = setTimeout(() => this.#end(1006, ''), END_MS)
  }

  /** For what the client did: the program is told as well. */
  #refuse(code: number, reason: string): void {
    this.#close(code, reason)
    this.#end(code, reason)
  }

  #end(code: number, reason: string): void {
    if (this.#state !== 'open' && this.#state !== 'closing') return
    this.#tell(['close', code, reason])
    this.#state = 'closed'
    this.#clock.stop()
    clearTimeout(this.#look)
    clearTimeout(this.#last)
    this.#last = setTimeout(this.#options.callOff, END_MS)
  }

  #stop(): void {
    this.#clock.stop()
    clearTimeout(this.#look)
    clearTimeout(this.#again)
    this.#queue.length = 0
  }

  #close(code: number, reason: string): void {
    if (this.#socket.readyState >= WebSocket.CLOSING) return
    this.#socket.close(code, encoder.encode(reason).length > REASON_BYTES ? '' : reason)
  }

  /** Says something, behind what waits. */
  #tell(words: readonly unknown[], body: Uint8Array<ArrayBuffer> = NOTHING): void {
    const { id, say } = this.#options
    const message = { id, head: encoder.encode(JSON.stringify(words)), body }
    if (this.#queue.length === 0 && say(message)) return
    this.#queue.push(message)
    this.#queued += toSocketCost(body.length)
    if (this.#queue.length === 1) this.#again = setTimeout(() => this.#drain(), LOOK_MS)
  }

  #drain(): void {
    let said = 0
    while (said < this.#queue.length && this.#options.say(this.#queue[said]!)) {
      this.#queued -= toSocketCost(this.#queue[said]!.body.length)
      said++
    }
    this.#queue.splice(0, said)
    if (this.#queue.length > 0) this.#again = setTimeout(() => this.#drain(), LOOK_MS)
  }
}

function toWords(head: Uint8Array): readonly unknown[] {
  try {
    const words: unknown = JSON.parse(decoder.decode(head.subarray(0, 1024)))
    return Array.isArray(words) ? words : []
  } catch {
    return []
  }
}
