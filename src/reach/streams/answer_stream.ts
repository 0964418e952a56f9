/** The body of a response that leaves its machine piece by piece, as the host has it. What comes may be anybody's. */
import { Inbox } from '../calls/pieces.ts'
import { type Message, WINDOW } from '../calls/protocol.ts'
import { StreamClock, StreamLimitError, type StreamOptions } from './limits.ts'

/** Milliseconds that a program has to end behind its stream, or when nobody reads that any longer. */
export const END_MS = 1000
/** Milliseconds between attempts to say what was not heard. */
const AGAIN_MS = 10
/** Bytes that were read before the program is told: each time wakes its machine. */
const TOLD_BYTES = WINDOW / 4

const NOTHING = new Uint8Array(0)
const encoder = new TextEncoder()
const decoder = new TextDecoder()

export interface AnswerStreamOptions extends StreamOptions {
  /** Has the function that cuts each open stream; left out: nobody cuts. */
  readonly open?: Set<() => void> | undefined
}

/** A program did not keep to the protocol. */
export class StreamError extends TypeError {
  override readonly name = 'StreamError'
}

export class AnswerStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
  readonly #options: AnswerStreamOptions
  readonly #inbox: Inbox
  readonly #clock: StreamClock
  readonly #cut = () => this.fail(new DOMException('The server is shutting down', 'AbortError'))
  #bytes = 0
  #owed = 0
  #state: 'open' | 'ended' | 'cancelled' | 'failed' = 'open'
  #failure: unknown
  #last: ReturnType<typeof setTimeout> | undefined

  constructor(options: AnswerStreamOptions) {
    this.#options = options
    this.#inbox = new Inbox((bytes) => this.#read(bytes))
    this.#clock = new StreamClock(options.limits, (error) => this.fail(error))
    options.extend(options.limits.streamMs + END_MS)
    options.open?.add(this.#cut)
    this.body = new ReadableStream({
      pull: async (controller) => {
        const piece = await this.#inbox.take()
        if (piece === null) controller.close()
        else controller.enqueue(piece as Uint8Array<ArrayBuffer>)
      },
      cancel: () => this.#cancel(),
    }, { highWaterMark: 0 })
  }

  get id(): number {
    return this.#options.id
  }

  /** Why it was ended by the host; undefined where it was not. */
  get failure(): unknown {
    return this.#failure
  }

  /** The request's body moved on, and so does what answers it. */
  move(): void {
    this.#clock.move()
  }

  /** Takes a message of its exchange. */
  hear({ head, body }: Message): void {
    if (this.#state === 'ended') return this.#stray()
    // What was on its way when its reader went.
    if (this.#state !== 'open') return
    const verb = decoder.decode(head.subarray(0, 16))
    if (verb === '["end"]') {
      this.#settle('ended')
      this.#inbox.end()
      return
    }
    if (verb !== '["piece"]') return this.fail(new StreamError('The program said no piece of its stream'))
    const { streamBytes } = this.#options.limits
    this.#bytes += body.length
    if (this.#bytes > streamBytes) return this.fail(new StreamLimitError('streamBytes', streamBytes))
    this.#clock.move()
    if (!this.#inbox.put(body)) this.fail(new StreamError('The program sent more than was asked for'))
  }

  /** Ends its request; who reads it learns of that by {@linkcode over}. */
  fail(error: unknown): void {
    if (this.#state !== 'open') return
    this.#failure = error
    this.#settle('failed')
    this.#options.callOff()
  }

  /** Its request has ended. Where that was before its own end, who reads it gets what `toError` makes of its failure, if it had one. */
  over(toError: (failure: unknown) => unknown): void {
    clearTimeout(this.#last)
    if (this.#state !== 'open' && this.#state !== 'failed') return
    if (this.#state === 'open') this.#settle('failed')
    const error = toError(this.#failure)
    this.#options.broke?.(error)
    this.#inbox.fail(error)
  }

  /** Who reads it has all of it, and its request ends now. */
  #stray(): void {
    this.#failure ??= new StreamError('The program said something behind the end of its stream')
    this.#options.callOff()
  }

  #cancel(): void {
    if (this.#state !== 'open') return
    this.#settle('cancelled')
    this.#say('["cancel"]')
  }

  #settle(state: 'ended' | 'cancelled' | 'failed'): void {
    const { open, callOff } = this.#options
    this.#state = state
    this.#clock.stop()
    open?.delete(this.#cut)
    if (state !== 'failed') this.#last = setTimeout(callOff, END_MS)
  }

  #read(bytes: number): void {
    this.#clock.move()
    this.#owed += bytes
    if (this.#owed < TOLD_BYTES) return
    const owed = this.#owed
    this.#owed = 0
    this.#say(`["more",${owed}]`)
  }

  /** A machine that has no room for it now has some later, or ends. */
  #say(text: string): void {
    const { id, say } = this.#options
    if (say({ id, head: encoder.encode(text), body: NOTHING }) || this.#state === 'failed') return
    if (this.#state === 'open') setTimeout(() => this.#say(text), AGAIN_MS)
  }
}
