/** The host's side of one request: what its program asks, and the stream that it answers with. */
import { clientLeft } from '../../errors/client_left.ts'
import type { Conversation } from '../calls/conversation.ts'
import type { Message } from '../calls/protocol.ts'
import { AnswerStream, StreamError } from './answer_stream.ts'
import { BodyStream, type BodyStreamOptions } from './body_stream.ts'
import type { Extend, Say, StreamLimits } from './limits.ts'
import { type HostSocket, SocketStream } from './socket_stream.ts'

/** What the program may ask for of its request's body. */
export type RequestBody = Pick<BodyStreamOptions, 'source' | 'timeoutMs' | 'tooSlow' | 'failed' | 'waits'>

export interface RequestChannelOptions {
  /** What the program may ask; null: nothing. */
  readonly conversation: Conversation | null
  readonly limits: StreamLimits
  /** The body of the request, where the program has no more than its beginning. */
  readonly body?: RequestBody | undefined
  /** The program begins to answer: `head` is a response's, as JSON that nobody has checked. What it throws ends the request. */
  readonly begin: (head: Uint8Array<ArrayBuffer>, stream: AnswerStream) => void
  /** Makes the request a WebSocket, of the protocol that the program names; '': of none. What it throws ends the request. */
  readonly upgrade: (protocol: string) => HostSocket
  /** Told why the stream broke. */
  readonly broke?: ((error: unknown) => void) | undefined
  /** Has the function that cuts each open stream. */
  readonly open?: Set<() => void> | undefined
}

/** What a request answers with that is no whole response. */
export type RequestStream = Pick<AnswerStream | SocketStream, 'id' | 'failure' | 'hear' | 'move' | 'over'>

/** A request that could not become a WebSocket. */
class RefusedStream implements RequestStream {
  readonly id: number
  readonly failure: unknown

  constructor(id: number, failure: unknown) {
    this.id = id
    this.failure = failure
  }

  hear(): void {}

  move(): void {}

  over(toError: (failure: unknown) => unknown): void {
    toError(this.failure)
  }
}

const UPGRADE = '["upgrade",'
const decoder = new TextDecoder()
const encoder = new TextEncoder()
const ANSWER = encoder.encode('["answer"]')
const BODY = encoder.encode('["body"]')

export class RequestChannel {
  readonly #options: RequestChannelOptions
  readonly #off = new AbortController()
  #stream: RequestStream | null = null
  #body: BodyStream | null = null
  #failure: unknown

  constructor(options: RequestChannelOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#off.signal
  }

  /** What it answers with; null where that is no stream. */
  get stream(): RequestStream | null {
    return this.#stream
  }

  /** Why it ended the request, where that is no fault of its stream; undefined where it did not. */
  get failure(): unknown {
    return this.#failure
  }

  /**
   * The client has gone: nobody waits for the answer any more. Who sends a stream, or reads one, learns it there, and has time to end.
   */
  leave(): void {
    if (this.#stream !== null || this.#options.body !== undefined) return
    this.#failure ??= clientLeft()
    this.#off.abort()
  }

  hear(message: Message, say: Say, extend: Extend): void {
    const { conversation, limits, body, begin, broke, open } = this.#options
    if (message.id === this.#stream?.id) return this.#stream.hear(message)
    if (message.id === this.#body?.id) return this.#body.hear(message)
    if (body !== undefined && this.#body === null && isSame(message.head, BODY)) {
      this.#body = new BodyStream({
        ...body,
        id: message.id,
        limits,
        say,
        // Once the answer is a stream, that has the request's time.
        extend: (ms) => this.#stream ?? extend(ms),
        moved: () => this.#stream?.move(),
      })
      return
    }
    if (this.#stream === null && startsUpgrade(message.head)) return this.#upgrade(message, say, extend)
    if (this.#stream !== null || !isSame(message.head, ANSWER)) {
      if (conversation !== null) return conversation.hear(message, say)
      this.#failure ??= new StreamError('The program said something that belongs to no stream')
      return this.#off.abort()
    }
    const callOff = () => this.#off.abort()
    const stream = this.#stream = new AnswerStream({
      id: message.id,
      limits,
      say,
      extend,
      callOff,
      broke,
      open,
    })
    try {
      begin(message.body, stream)
    } catch (error) {
      stream.fail(error)
    }
  }

  #upgrade({ id, head }: Message, say: Say, extend: Extend): void {
    const { limits, upgrade, broke } = this.#options
    const callOff = () => this.#off.abort()
    try {
      const socket = upgrade(toProtocol(head))
      this.#stream = new SocketStream(socket, { id, limits, say, extend, callOff, broke })
    } catch (error) {
      this.#stream = new RefusedStream(id, error)
      callOff()
    }
  }

  end(): void {
    this.#body?.over()
    this.#options.body?.source.cancel()
    this.#options.conversation?.end()
  }
}

function isSame(head: Uint8Array, wanted: Uint8Array): boolean {
  return head.length === wanted.length && wanted.every((byte, index) => head[index] === byte)
}

function startsUpgrade(head: Uint8Array): boolean {
  return decoder.decode(head.subarray(0, UPGRADE.length)) === UPGRADE
}

/** The protocol of an `upgrade`. Throws `TypeError` for what is none. */
function toProtocol(head: Uint8Array): string {
  const words: unknown = head.length > 1024 ? null : JSON.parse(decoder.decode(head))
  const [, protocol] = Array.isArray(words) ? words : []
  if (typeof protocol === 'string') return protocol
  throw new TypeError('The program names no protocol of its WebSocket')
}
