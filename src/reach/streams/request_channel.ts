/** The host's side of one request: what its program asks, and the stream that it answers with. */
import type { Conversation } from '../calls/conversation.ts'
import type { Message } from '../calls/protocol.ts'
import { AnswerStream } from './answer_stream.ts'
import type { Extend, Say, StreamLimits } from './limits.ts'

export interface RequestChannelOptions {
  /** What the program may ask; null: nothing. */
  readonly conversation: Conversation | null
  readonly limits: StreamLimits
  /** The program begins to answer: `head` is a response's, as JSON that nobody has checked. What it throws ends the request. */
  readonly begin: (head: Uint8Array<ArrayBuffer>, stream: AnswerStream) => void
  /** Told why the stream broke. */
  readonly broke?: ((error: unknown) => void) | undefined
  /** Has the function that cuts each open stream. */
  readonly open?: Set<() => void> | undefined
}

const ANSWER = new TextEncoder().encode('["answer"]')

export class RequestChannel {
  readonly #options: RequestChannelOptions
  readonly #off = new AbortController()
  #stream: AnswerStream | null = null

  constructor(options: RequestChannelOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#off.signal
  }

  /** What it answers with; null where that is no stream. */
  get stream(): AnswerStream | null {
    return this.#stream
  }

  hear(message: Message, say: Say, extend: Extend): void {
    const { conversation, limits, begin, broke, open } = this.#options
    if (message.id === this.#stream?.id) return this.#stream.hear(message)
    if (this.#stream !== null || !isAnswer(message.head)) return conversation?.hear(message, say)
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

  end(): void {
    this.#options.conversation?.end()
  }
}

function isAnswer(head: Uint8Array): boolean {
  return head.length === ANSWER.length && ANSWER.every((byte, index) => head[index] === byte)
}
