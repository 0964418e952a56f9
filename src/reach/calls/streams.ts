/** Streams among the arguments and values of calls: chunk by chunk, and never more than a window ahead of who reads. Both sides run it. */
import { decodeValue } from '../../values/decode.ts'
import { encodeValue, joinMessage } from '../../values/encode.ts'
import { Credit, Inbox } from './pieces.ts'
import { MAX_VALUE, PIECE, toChunkCost, WINDOW } from './protocol.ts'

/** Says something of a stream to the other side; what it gives is awaited where there may be no room. */
export type SayOf = (
  head:
    | readonly ['piece']
    | readonly ['chunk']
    | readonly ['end']
    | readonly ['error']
    | readonly [
      'more',
      number,
    ]
    | readonly ['cancel'],
  body?: Uint8Array<ArrayBuffer>,
) => void | Promise<void>

/** One end of a stream. */
export interface StreamEnd {
  /** Takes what the other side says of it, which may be anything; true: it is over. */
  hear(verb: unknown, word: unknown, body: Uint8Array<ArrayBuffer>): boolean
  /** Nothing more comes from the other side, and nothing goes there. */
  stop(reason: unknown): void
}

/** What was read and not told yet, over which it is told, though more waits. */
const TOLD = WINDOW / 4

/** The end that has the stream, and sends it. */
export class SentStream implements StreamEnd {
  readonly #reader: ReadableStreamDefaultReader<unknown>
  readonly #say: SayOf
  readonly #toTold: (error: unknown) => unknown
  readonly #credit = new Credit()
  #unread = 0
  #over = false

  /** Locks the stream; throws `TypeError` for one that is. `toTold`: what the other side may know of its error. */
  constructor(stream: ReadableStream<unknown>, say: SayOf, toTold: (error: unknown) => unknown) {
    this.#reader = stream.getReader()
    this.#say = say
    this.#toTold = toTold
  }

  /** Sends all of it. Never rejects. `ended` is called at its end, however that comes. */
  async send(ended: () => void): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#reader.read()
        if (this.#over) return
        if (done) break
        if (!await this.#sendChunk(value)) return
      }
      await this.#say(['end'])
    } catch (error) {
      if (this.#over) return
      await this.#say(['error'], encodeError(this.#toTold(error)))
      this.stop(error)
    } finally {
      ended()
    }
  }

  hear(verb: unknown, word: unknown): boolean {
    if (verb === 'more') {
      const cost = word as number
      if (!Number.isSafeInteger(cost) || cost <= 0 || cost > this.#unread) return false
      this.#unread -= cost
      this.#credit.add(cost)
      return false
    }
    this.stop(new DOMException('Nobody reads the stream any longer', 'AbortError'))
    return true
  }

  stop(reason: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#credit.add(WINDOW)
    this.#reader.cancel(reason).catch(() => {})
  }

  /** False: nobody wants it. */
  async #sendChunk(chunk: unknown): Promise<boolean> {
    if (chunk instanceof Uint8Array) {
      for (let at = 0; at < chunk.length; at += PIECE) {
        // Copied: it may be a part of a buffer that goes on being used.
        const piece = new Uint8Array(chunk.subarray(at, at + PIECE))
        if (!await this.#take(piece.length)) return false
        await this.#say(['piece'], piece)
      }
      return true
    }
    const bytes = joinMessage(encodeValue(chunk, { stacks: false }))
    if (bytes.length > MAX_VALUE) {
      throw new RangeError(`Cannot pass a chunk of ${bytes.length} bytes: want at most ${MAX_VALUE}`)
    }
    if (!await this.#take(toChunkCost(bytes.length))) return false
    await this.#say(['chunk'], bytes)
    return true
  }

  async #take(cost: number): Promise<boolean> {
    await this.#credit.take(cost)
    this.#unread += cost
    return !this.#over
  }
}

/** The end that reads. */
export class ReceivedStream implements StreamEnd {
  readonly stream: ReadableStream<unknown>
  readonly #inbox: Inbox<{ readonly chunk: unknown }>
  readonly #say: SayOf
  readonly #toThrown: (value: unknown) => unknown
  #controller: ReadableStreamDefaultController<unknown> | null = null
  #owed = 0
  #over = false

  /** `toThrown` makes an error of what the other side told as one; `ended` is called when nobody reads any longer. */
  constructor(say: SayOf, toThrown: (value: unknown) => unknown, ended: () => void) {
    this.#say = say
    this.#toThrown = toThrown
    this.#inbox = new Inbox((cost) => this.#owed += cost)
    this.stream = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      pull: async (controller) => {
        if (this.#owed >= TOLD || this.#inbox.isEmpty) this.#tell()
        const item = await this.#inbox.take()
        if (item === null) controller.close()
        else controller.enqueue(item.chunk)
      },
      cancel: () => {
        if (this.#over) return
        this.#over = true
        ended()
        void this.#say(['cancel'])
      },
    }, { highWaterMark: 0 })
  }

  hear(verb: unknown, _word: unknown, body: Uint8Array<ArrayBuffer>): boolean {
    if (this.#over) return true
    if (verb === 'piece' && this.#inbox.put({ chunk: body }, body.length)) return false
    if (verb === 'chunk') {
      try {
        if (this.#inbox.put({ chunk: decodeValue(body) }, toChunkCost(body.length))) return false
      } catch {
        // No value.
      }
    }
    this.#over = true
    if (verb === 'end') this.#inbox.end()
    else if (verb === 'error') this.#inbox.fail(this.#toThrown(valueOf(body)))
    else this.#inbox.fail(new TypeError('The stream broke off: what was sent is no part of one'))
    return true
  }

  stop(reason: unknown): void {
    if (this.#over) return
    this.#over = true
    // At once: what came and was not read is nobody's.
    this.#controller!.error(reason)
    this.#inbox.fail(reason)
  }

  #tell(): void {
    if (this.#owed === 0 || this.#over) return
    const owed = this.#owed
    this.#owed = 0
    void this.#say(['more', owed])
  }
}

function valueOf(body: Uint8Array<ArrayBuffer>): unknown {
  try {
    return decodeValue(body)
  } catch {
    return new TypeError('The stream broke off')
  }
}

function encodeError(error: unknown): Uint8Array<ArrayBuffer> {
  try {
    const bytes = joinMessage(encodeValue(error, { stacks: false }))
    if (bytes.length <= MAX_VALUE) return bytes
  } catch {
    // What was thrown is no data.
  }
  return joinMessage(encodeValue(new Error('The stream broke off'), { stacks: false }))
}
