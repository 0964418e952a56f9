/** Keeps what the host added out of what comes back: a server that echoes its request must not tell a program a secret. */
import type { Buffer } from 'node:buffer'

/** Shorter values are no secrets, and would be found where they are not meant. */
const LEAST = 8

/** Node's buffers, asked for when there is a secret: most servers have none, and start sooner without. */
function buffers() {
  return process.getBuiltinModule('node:buffer').Buffer
}

/** A response told a secret. */
export class EchoError extends Error {
  override readonly name = 'EchoError'
}

/** Values that must not come back. */
export class Secrets {
  readonly #texts: string[] = []
  readonly #bytes: Buffer[] = []

  /** Remembers a value, and what stands behind its scheme (`Bearer ...`). */
  add(value: string): void {
    for (const text of new Set([value, value.replace(/^\S+ +/, '')])) {
      if (text.length < LEAST || this.#texts.includes(text)) continue
      this.#texts.push(text)
      this.#bytes.push(buffers().from(text, 'latin1'))
    }
  }

  /** Whether a text has one of them. */
  isIn(text: string): boolean {
    return this.#texts.some((secret) => text.includes(secret))
  }

  /** Passes bytes on, and holds back only what may be the beginning of a secret. Throws `EchoError` for a secret. */
  async *guard(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    if (this.#bytes.length === 0) return yield* chunks
    const Buffer = buffers()
    let held = Buffer.alloc(0)
    for await (const chunk of chunks) {
      const bytes = held.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([held, chunk])
      if (this.#bytes.some((secret) => bytes.includes(secret))) throw new EchoError('a secret comes back')
      const keep = this.#beginning(bytes)
      if (keep < bytes.length) yield bytes.subarray(0, bytes.length - keep)
      held = Buffer.from(bytes.subarray(bytes.length - keep))
    }
    if (held.length > 0) yield held
  }

  /** How many of the last bytes begin a secret. */
  #beginning(bytes: Buffer): number {
    let most = 0
    for (const secret of this.#bytes) {
      for (let length = Math.min(secret.length - 1, bytes.length); length > most; length--) {
        if (bytes.subarray(bytes.length - length).equals(secret.subarray(0, length))) most = length
      }
    }
    return most
  }
}
