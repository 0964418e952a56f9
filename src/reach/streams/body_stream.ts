/** The body of a request on its way into a machine. What the program says of it may be anything. */
import { encodeValue, joinMessage } from '../../values/encode.ts'
import { toTold } from '../calls/failure.ts'
import { copyPiece, Credit } from '../calls/pieces.ts'
import { type HostHead, type Message, PIECE, WINDOW } from '../calls/protocol.ts'
import { END_MS } from './answer_stream.ts'
import type { BodySource } from '../../context/body_source.ts'
import type { Extend, Say, StreamLimits } from './limits.ts'

/** Milliseconds between attempts to say what was not heard. */
const AGAIN_MS = 4

const NOTHING = new Uint8Array(0)
const encoder = new TextEncoder()
const decoder = new TextDecoder()

export interface BodyStreamOptions {
  readonly id: number
  readonly source: BodySource
  readonly limits: StreamLimits
  /** Milliseconds that the program has from each piece to asking for more, or to its end. */
  readonly timeoutMs: number
  readonly say: Say
  readonly extend: Extend
  /** The error for a client that was over `limit`. */
  readonly tooSlow: (limit: 'streamMs' | 'streamIdleMs') => unknown
  /** Told why its client's body ended before its end. */
  readonly failed?: ((error: unknown) => void) | undefined
  /** Told that the client is waited for, and that it is not. */
  readonly waits?: ((yes: boolean) => void) | undefined
  /** Something of it moved on. */
  readonly moved: () => void
}

/**
 * Reads a body for a program that has asked for it: never more than a window, and one chunk, ahead of it. While the program waits for its
 * client, the limits of streams count in place of `timeoutMs`.
 */
export class BodyStream {
  readonly #options: BodyStreamOptions
  readonly #credit = new Credit()
  readonly #end: number
  /** Bytes that the program has not read. */
  #unread = 0
  #reads = false
  #closed = false
  #state: 'open' | 'ended' | 'failed' = 'open'
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: BodyStreamOptions) {
    this.#options = options
    this.#end = performance.now() + options.limits.streamMs
    this.#pump().catch((error) => this.#fail(error))
  }

  get id(): number {
    return this.#options.id
  }

  /** Takes a message of its exchange; what makes no sense is no news. */
  hear({ head }: Message): void {
    if (this.#state !== 'open') return
    const [verb, bytes] = toWords(head)
    if (verb === 'cancel') return this.over()
    if (verb !== 'more' || !Number.isSafeInteger(bytes)) return
    const read = bytes as number
    if (read <= 0 || read > this.#unread) return
    this.#unread -= read
    this.#options.moved()
    this.#credit.add(read)
    this.#time()
  }

  /** The request has ended, or its program wants no more. */
  over(): void {
    this.#closed = true
    if (this.#state !== 'open') return
    this.#settle('ended')
    this.#options.source.cancel()
  }

  async #pump(): Promise<void> {
    while (this.#state === 'open') {
      const chunk = await this.#read()
      if (this.#state !== 'open') return
      if (chunk === null) {
        this.#settle('ended')
        await this.#say(['end'])
        return
      }
      this.#options.moved()
      for (let at = 0; at < chunk.length; at += PIECE) {
        const piece = copyPiece(chunk, at)
        await this.#credit.take(piece.length)
        if (this.#state !== 'open') return
        this.#unread += piece.length
        await this.#say(['piece'], piece)
      }
    }
  }

  async #read(): Promise<Uint8Array | null> {
    const { source, tooSlow, limits: { streamIdleMs } } = this.#options
    const left = this.#end - performance.now()
    const limit = left < streamIdleMs ? 'streamMs' : 'streamIdleMs'
    this.#reads = true
    this.#timer = setTimeout(() => this.#fail(tooSlow(limit)), Math.max(1, Math.min(left, streamIdleMs)))
    this.#time()
    try {
      return await source.take()
    } finally {
      clearTimeout(this.#timer)
      this.#reads = false
      if (this.#state === 'open') this.#time()
    }
  }

  /** The program's time, or its client's. */
  #time(): void {
    const { extend, timeoutMs, waits } = this.#options
    const isClients = this.#reads && this.#unread === 0
    waits?.(isClients)
    extend(isClients ? Math.max(1, this.#end - performance.now() + END_MS) : timeoutMs)
  }

  #fail(error: unknown): void {
    if (this.#state !== 'open') return
    this.#options.failed?.(error)
    this.#settle('failed')
    this.#options.source.cancel()
    this.#options.extend(this.#options.timeoutMs)
    this.#say(['error'], joinMessage(encodeValue(toTold(error), { stacks: false }))).catch(() => {})
  }

  #settle(state: 'ended' | 'failed'): void {
    clearTimeout(this.#timer)
    this.#state = state
    this.#options.waits?.(false)
    // Whoever waits for room finds that out.
    this.#credit.add(WINDOW)
  }

  /** A machine that has no room for it now has some later, or ends. */
  async #say(head: HostHead, body: Uint8Array<ArrayBuffer> = NOTHING): Promise<void> {
    const { id, say } = this.#options
    const message = { id, head: encoder.encode(JSON.stringify(head)), body }
    while (!this.#closed && !say(message)) await new Promise((done) => setTimeout(done, AGAIN_MS))
  }
}

function toWords(head: Uint8Array): readonly unknown[] {
  try {
    const words: unknown = JSON.parse(decoder.decode(head.subarray(0, 64)))
    return Array.isArray(words) ? words : []
  } catch {
    return []
  }
}
