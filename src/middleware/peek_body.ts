import { joinBytes } from '../context/join_bytes.ts'

/** A body that was looked into, whole again. */
export type PeekedBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>

/**
 * Finds out whether a body is smaller than `threshold` bytes without holding up one that is still being made: what is not
 * there by the next turn of the event loop counts as more to come. A small body comes back as bytes, so that its length is
 * known; any other as a stream, whose cancelling cancels the source.
 */
export async function peekBody(
  source: ReadableStream<Uint8Array<ArrayBuffer>>,
  threshold: number,
): Promise<PeekedBody> {
  if (threshold === 0) return source
  const reader = source.getReader()
  const seen: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  let pending: ReturnType<typeof reader.read> | undefined
  let ended = false
  while (bytes < threshold && !ended) {
    const read = reader.read()
    const result = await Promise.race([read, nextTurn()])
    if (result === undefined) {
      pending = read
      break
    }
    ended = result.done
    if (!result.done) {
      seen.push(result.value)
      bytes += result.value.length
    }
  }
  if (ended && bytes < threshold) return joinBytes(seen)
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const ready = seen.shift()
      if (ready !== undefined) return controller.enqueue(ready)
      const { done, value } = ended ? { done: true, value: undefined } : await (pending ?? reader.read())
      pending = undefined
      if (done) controller.close()
      else controller.enqueue(value!)
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 })
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), 0))
}
