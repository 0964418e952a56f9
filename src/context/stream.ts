/** Response bodies from iterables: pulled by the client, closed when it goes away. */
import type { SseMessage } from './types.ts'

const encoder = new TextEncoder()

/** A byte stream over text and bytes. A cancelled stream calls `return()` of the iterator, so `finally` blocks run. */
export function toByteStream(
  source: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
): ReadableStream<Uint8Array> {
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
    },
    async cancel() {
      await iterator.return?.()
    },
  }, { highWaterMark: 0 })
}

/** Server-sent events (HTML standard, section 9.2) with a comment every `keepAliveMs` of silence. */
export function toEventStream(
  source: AsyncIterable<SseMessage | string>,
  keepAliveMs: number,
): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]()
  let pending: Promise<IteratorResult<SseMessage | string>> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      pending ??= iterator.next()
      const silence = new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), keepAliveMs)
      })
      try {
        const result = await Promise.race([pending, silence])
        if (result === undefined) return controller.enqueue(encoder.encode(': keep-alive\n\n'))
        pending = undefined
        if (result.done) controller.close()
        else controller.enqueue(encoder.encode(toEventText(result.value)))
      } finally {
        clearTimeout(timer)
      }
    },
    async cancel() {
      clearTimeout(timer)
      // An iterator that waits inside next() ends only when that wait does, so its end is not awaited.
      const ended = iterator.return?.()
      if (pending === undefined) await ended
      else Promise.resolve(ended).catch(() => {})
    },
  }, { highWaterMark: 0 })
}

/** One event as text. Data that is no string is sent as JSON; line breaks in other fields throw `TypeError`. */
export function toEventText(message: SseMessage | string): string {
  const { data, event, id, retry, comment } = typeof message === 'string'
    ? { data: message } as SseMessage
    : message
  let text = ''
  if (comment !== undefined) text += lines('', comment)
  if (event !== undefined) text += `event: ${oneLine('event', event)}\n`
  if (id !== undefined) text += `id: ${oneLine('id', String(id))}\n`
  if (retry !== undefined) text += `retry: ${retry}\n`
  if (data !== undefined) text += lines('data', typeof data === 'string' ? data : JSON.stringify(data))
  return text + '\n'
}

function lines(field: string, value: string): string {
  return value.split(/\r\n|\r|\n/).map((line) => `${field}: ${line}\n`).join('')
}

function oneLine(field: string, value: string): string {
  if (/[\r\n\0]/.test(value)) {
    throw new TypeError(`Cannot send an event: its ${field} is ${JSON.stringify(value)}, want one line`)
  }
  return value
}
