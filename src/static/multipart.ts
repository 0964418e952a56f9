import type { Part } from './body.ts'
import type { ByteRange } from './range.ts'

/** Several ranges of a file as one body: `multipart/byteranges`, RFC 9110 section 14.6. */
export interface Multipart {
  readonly contentType: string
  readonly contentLength: number
  readonly parts: readonly Part[]
}

/** Lays out `ranges` of a file of `type` and `size` bytes. */
export function toMultipart(ranges: readonly ByteRange[], type: string, size: number): Multipart {
  // Unguessable, so that no file can hold it on purpose.
  const boundary = crypto.randomUUID()
  const encoder = new TextEncoder()
  const parts: Part[] = []
  let contentLength = 0
  function addText(text: string): void {
    const bytes = encoder.encode(text)
    contentLength += bytes.length
    parts.push(bytes)
  }
  for (const range of ranges) {
    addText(
      `${parts.length === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: ${type}\r\n` +
        `Content-Range: bytes ${range.start}-${range.end}/${size}\r\n\r\n`,
    )
    contentLength += range.end - range.start + 1
    parts.push(range)
  }
  addText(`\r\n--${boundary}--\r\n`)
  return { contentType: `multipart/byteranges; boundary=${boundary}`, contentLength, parts }
}
