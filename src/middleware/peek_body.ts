/** A body that was looked into, whole again. */
export interface PeekedBody {
  /** True when the body has ended and has fewer bytes than the threshold. */
  readonly small: boolean
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
}

/**
 * Finds out whether a body is smaller than `threshold` bytes without holding up one that is still being made: what is not
 * there by the next turn of the event loop counts as more to come. Cancelling the result cancels the source.
 */
export async function peekBody(
  source: ReadableStream<Uint8Array<ArrayBuffer>>,
  threshold: number,
): Promise<PeekedBody> {
  if (threshold === 0) return { small: false, body: source }
  const reader = source.getReader()
  const seen: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  let pending: ReturnType<typeof reader.read> | undefined
  let ended = false
  while (bytes < threshold && !ended) {
    const read = reader.read()
    const result = seen.length === 0 ? await read : await Promise.race([read, nextTurn()])
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
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
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
  return { small: ended && bytes < threshold, body }
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), 0))
}
