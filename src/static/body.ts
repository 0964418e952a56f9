/** Bodies read from files, which are closed when the body ends, fails or is given up. */
import type { ByteRange } from './range.ts'

const CHUNK_BYTES = 64 * 1024

/** Files up to this size are read at once. */
const SMALL_FILE_BYTES = 64 * 1024

/** A whole file, as long as it is still `size` bytes long: undefined when it has changed meanwhile. */
export async function wholeFile(path: string, size: number): Promise<BodyInit | undefined> {
  if (size <= SMALL_FILE_BYTES) {
    const bytes = await Deno.readFile(path)
    return bytes.length === size ? bytes : undefined
  }
  return (await Deno.open(path)).readable
}

/** A piece of a file, or pieces with text between them. */
export type Part = Uint8Array<ArrayBuffer> | ByteRange

/** Streams `parts` of a file. A file that has become shorter breaks the stream, so that nothing looks whole that is not. */
export async function fileParts(path: string, parts: readonly Part[]): Promise<ReadableStream<Uint8Array>> {
  const file = await Deno.open(path)
  let index = 0
  let position = -1
  let isOpen = true
  function close(): void {
    if (isOpen) file.close()
    isOpen = false
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = parts[index]
      if (part === undefined) {
        close()
        controller.close()
      } else if (part instanceof Uint8Array) {
        index++
        controller.enqueue(part)
      } else {
        try {
          if (position === -1) position = await file.seek(part.start, Deno.SeekMode.Start)
          const chunk = new Uint8Array(Math.min(CHUNK_BYTES, part.end - position + 1))
          const count = await file.read(chunk)
          if (!isOpen) return
          if (count === null) throw new Error(`Cannot send ${path}: it has become shorter than it was`)
          position += count
          if (position > part.end) {
            position = -1
            index++
          }
          controller.enqueue(count === chunk.length ? chunk : chunk.subarray(0, count))
        } catch (error) {
          if (!isOpen) return
          close()
          throw error
        }
      }
    },
    cancel: close,
  }, { highWaterMark: 0 })
}
