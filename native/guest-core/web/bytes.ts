/** Bytes of texts and of many chunks. */
import { host } from './host.ts'

/** UTF-8. Engines hand lone surrogates to the host in their own ways, so they are replaced here. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return host.encode(text.toWellFormed())
}

/** All chunks, one behind the other. Throws `TypeError` for one that is no `Uint8Array`. */
export function joinBytes(chunks: readonly unknown[]): Uint8Array<ArrayBuffer> {
  let size = 0
  for (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array)) {
      throw new TypeError(`Cannot read a body: a chunk is ${typeof chunk}, want a Uint8Array`)
    }
    size += chunk.length
  }
  const all = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks as Uint8Array[]) {
    all.set(chunk, offset)
    offset += chunk.length
  }
  return all
}

/** A view's buffer, if it is all of that; else a copy of its bytes. */
export function toBuffer(bytes: Uint8Array<ArrayBuffer>): ArrayBuffer {
  return bytes.length === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer
}
