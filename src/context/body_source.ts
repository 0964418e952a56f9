/** The body of a request as its client sends it: bounded in bytes, and handed on as it comes. */
import { joinBytes } from './join_bytes.ts'

/** Bytes that go to a machine with the request itself: a body that is shorter goes whole. */
export const WHOLE_BYTES = 1 << 16
/** Milliseconds for which a body may come before the request goes to its machine without the rest. */
const SOON_MS = 10

/** The errors of a body, as whoever asked for it wants them. */
export interface BodyErrors {
  /** It has `bytes`, or more. */
  tooLarge(bytes: number): unknown
  /** Its client went away, or sent what is no body. */
  brokeOff(cause: unknown): unknown
}

/** What came of a body, and where the rest comes from; null: that is all of it. */
export interface BegunBody {
  readonly first: Uint8Array<ArrayBuffer>
  readonly rest: BodySource | null
}

/** A body that is read chunk by chunk. */
export class BodySource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #limit: number
  readonly #errors: BodyErrors
  #bytes = 0
  #next: Promise<Uint8Array | null> | null = null

  /** Locks `body`. */
  constructor(body: ReadableStream<Uint8Array>, limit: number, errors: BodyErrors) {
    this.#reader = body.getReader()
    this.#limit = limit
    this.#errors = errors
  }

  /** The next chunk, which {@linkcode take} gives as well; null at the end. Rejects with one of its errors. */
  peek(): Promise<Uint8Array | null> {
    return this.#next ??= this.#read()
  }

  async take(): Promise<Uint8Array | null> {
    const chunk = await this.peek()
    this.#next = null
    return chunk
  }

  /** Nobody wants the rest. */
  cancel(): void {
    this.#next?.catch(() => {})
    this.#reader.cancel().catch(() => {})
  }

  async #read(): Promise<Uint8Array | null> {
    let read
    try {
      read = await this.#reader.read()
    } catch (error) {
      throw this.#errors.brokeOff(error)
    }
    if (read.done) return null
    this.#bytes += read.value.length
    if (this.#bytes > this.#limit) throw this.#errors.tooLarge(this.#bytes)
    return read.value
  }
}

/** Whether a body of this declared length goes whole. */
export function isWhole(headers: Headers): boolean {
  const declared = headers.get('content-length')
  return declared !== null && Number(declared) <= WHOLE_BYTES
}

/** Reads what comes soon of a body, and all of a short one. Rejects as {@linkcode BodySource.take}. */
export async function beginBody(source: BodySource): Promise<BegunBody> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'late'>((resolve) => timer = setTimeout(() => resolve('late'), SOON_MS))
  try {
    while (bytes < WHOLE_BYTES) {
      if (await Promise.race([source.peek(), late]) === 'late') break
      const chunk = await source.take()
      if (chunk === null) return { first: joinBytes(chunks), rest: null }
      chunks.push(chunk)
      bytes += chunk.length
    }
    return { first: joinBytes(chunks), rest: source }
  } catch (error) {
    source.cancel()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
