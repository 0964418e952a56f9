/** Reads one frame from a stream whose writer is not trusted. */
import { joinBytes } from '../../context/join_bytes.ts'
import { FrameError, type FrameLimits, HEAD_BYTES, readHead, RESPONSE } from '../wire/wire.ts'

/** What came: a frame, the end of the stream before one was whole, or bytes that are no frame within the limits. */
export type FrameRead =
  | { readonly kind: 'frame'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end' }
  | { readonly kind: 'refused'; readonly error: FrameError }

/** Reads frames from a stream, one after the other. */
export class FrameReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = stream.getReader()
  }

  /** The next response frame. It must be the last thing that was written: after each answer the other side waits. */
  async read(limits: FrameLimits): Promise<FrameRead> {
    let bytes = new Uint8Array(0)
    try {
      while (bytes.length < HEAD_BYTES) {
        const { value, done } = await this.#reader.read()
        if (done) return { kind: 'end' }
        bytes = bytes.length === 0 ? value : joinBytes([bytes, value])
      }
      const { headerBytes, bodyBytes } = readHead(bytes, RESPONSE, limits)
      const frame = new Uint8Array(HEAD_BYTES + headerBytes + bodyBytes)
      for (let have = 0;;) {
        const over = have + bytes.length - frame.length
        if (over > 0) throw new FrameError('trailing', over, `${over} bytes after its end, wanted none`)
        frame.set(bytes, have)
        have += bytes.length
        if (have === frame.length) return { kind: 'frame', bytes: frame }
        const { value, done } = await this.#reader.read()
        if (done) return { kind: 'end' }
        bytes = value
      }
    } catch (error) {
      if (error instanceof FrameError) return { kind: 'refused', error }
      throw error
    }
  }

  /** Gives the stream up. */
  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {})
  }
}
