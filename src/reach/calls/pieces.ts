/** Bodies on their way between a program and the host, piece by piece: whoever sends waits for whoever reads. */
import { PIECE, WINDOW } from './protocol.ts'

/** What may be sent before the other side has read. */
export class Credit {
  #bytes = WINDOW
  #wake: (() => void) | null = null

  /** The other side has read so much. */
  add(bytes: number): void {
    this.#bytes = Math.min(WINDOW, this.#bytes + bytes)
    this.#wake?.()
  }

  /** Resolves when `bytes`, at most a piece, may be sent, and takes them. */
  async take(bytes: number): Promise<void> {
    while (this.#bytes < bytes) {
      await new Promise<void>((wake) => this.#wake = wake)
      this.#wake = null
    }
    this.#bytes -= bytes
  }
}

/** Sends all of a body as pieces. Rejects with what the body or `send` throws. */
export async function sendPieces(
  body: AsyncIterable<Uint8Array>,
  credit: Credit,
  send: (piece: Uint8Array<ArrayBuffer>) => void,
): Promise<void> {
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += PIECE) {
      const piece = copyPiece(chunk, at)
      await credit.take(piece.length)
      send(piece)
    }
  }
}

/** The piece of a chunk that begins at `at`, copied: the chunk's buffer may go on being used. `slice` of a `Buffer` copies nothing. */
export function copyPiece(chunk: Uint8Array, at: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(chunk.subarray(at, at + PIECE))
}

interface Item<Piece> {
  readonly piece: Piece
  readonly cost: number
}

/** Pieces that came, until they are read. */
export class Inbox<Piece extends Uint8Array | { readonly chunk: unknown } = Uint8Array> {
  readonly #pieces: Item<Piece>[] = []
  readonly #read: (bytes: number) => void
  #held = 0
  #ended = false
  #failure: { readonly error: unknown } | null = null
  #wake: (() => void) | null = null

  /** `read` is called with what each piece that was taken costs: its bytes. */
  constructor(read: (bytes: number) => void) {
    this.#read = read
  }

  /** Nothing waits to be read. */
  get isEmpty(): boolean {
    return this.#pieces.length === 0
  }

  /** False for more than was asked for: the other side does not keep to the rules. */
  put(piece: Piece, cost = (piece as Uint8Array).length): boolean {
    if (this.#ended || cost === 0 || this.#held + cost > WINDOW) return false
    this.#held += cost
    this.#pieces.push({ piece, cost })
    this.#wake?.()
    return true
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#wake?.()
  }

  /** The next piece, null at the end. Rejects with what {@linkcode fail} was given. */
  async take(): Promise<Piece | null> {
    for (;;) {
      const item = this.#pieces.shift()
      if (item !== undefined) {
        this.#held -= item.cost
        this.#read(item.cost)
        return item.piece
      }
      if (this.#failure !== null) throw this.#failure.error
      if (this.#ended) return null
      await new Promise<void>((wake) => this.#wake = wake)
      this.#wake = null
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece> {
    for (;;) {
      const piece = await this.take()
      if (piece === null) return
      yield piece
    }
  }
}
