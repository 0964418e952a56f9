/** What a stream of a request may take: the body of its answer that comes piece by piece, or its WebSocket. */

import type { Message } from '../calls/protocol.ts'

/** Says a message; false when the request has ended, or does not hear for now. */
export type Say = (message: Message) => boolean

/** Gives the request so many milliseconds from now on. */
export type Extend = (ms: number) => void

export interface StreamLimits {
  /** Milliseconds that it may live. */
  readonly streamMs: number
  /** Milliseconds for which nothing of it may move on. */
  readonly streamIdleMs: number
  /** Bytes of it, each way. */
  readonly streamBytes: number
}

/** What a stream has of its request, whichever kind it is. */
export interface StreamOptions {
  readonly id: number
  readonly limits: StreamLimits
  readonly say: Say
  readonly extend: Extend
  /** Ends the request. */
  readonly callOff: () => void
  /** Told why it broke, before who reads it. */
  readonly broke?: ((error: unknown) => void) | undefined
}

/** A stream was over a limit. */
export class StreamLimitError extends Error {
  override readonly name = 'StreamLimitError'
  /** The option, and its value. */
  readonly limit: { readonly name: keyof StreamLimits; readonly value: number }

  constructor(name: keyof StreamLimits, value: number) {
    super(WORDS[name](value))
    this.limit = { name, value }
  }
}

const WORDS: Readonly<Record<keyof StreamLimits, (value: number) => string>> = {
  streamMs: (value) => `The stream lasted longer than streamMs, ${value} ms`,
  streamIdleMs: (value) => `Nothing of the stream moved on for streamIdleMs, ${value} ms`,
  streamBytes: (value) => `The stream is over streamBytes, ${value} bytes`,
}

/** Watches a stream's time. `expire` is called once, with the limit that was met. */
export class StreamClock {
  readonly #limits: StreamLimits
  readonly #expire: (error: StreamLimitError) => void
  readonly #end: number
  #moved: number
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limits: StreamLimits, expire: (error: StreamLimitError) => void) {
    this.#limits = limits
    this.#expire = expire
    this.#moved = performance.now()
    this.#end = this.#moved + limits.streamMs
    this.#arm()
  }

  /** Something of it moved on. */
  move(): void {
    this.#moved = performance.now()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #arm(): void {
    const { streamIdleMs } = this.#limits
    const due = Math.min(this.#end, this.#moved + streamIdleMs) - performance.now()
    this.#timer = setTimeout(() => this.#look(), Math.max(1, due))
  }

  #look(): void {
    const now = performance.now()
    const { streamMs, streamIdleMs } = this.#limits
    if (now >= this.#end) return this.#expire(new StreamLimitError('streamMs', streamMs))
    if (now < this.#moved + streamIdleMs) return this.#arm()
    this.#expire(new StreamLimitError('streamIdleMs', streamIdleMs))
  }
}
