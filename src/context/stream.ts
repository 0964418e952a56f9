/** Response bodies from iterables: pulled by the client, closed when it goes away. */
import type { SseMessage } from './types.ts'

const encoder = new TextEncoder()

/** Who owns the streams of a request. */
export interface StreamOwner {
  /** Each open stream puts the function that cuts it here, and takes it out at its end. */
  readonly open: Set<() => void>
  /** Called when a stream breaks because its source threw: the client has the headers and sees a broken transfer. */
  failed(error: unknown): void
  /** Whether a stream is cancelled only when its source has come to its end, as a machine that ends then has to. Default false. */
  readonly awaitsEnd?: boolean | undefined
}

/** A byte stream over text and bytes. A cancelled stream calls `return()` of the iterator, so `finally` blocks run. */
export function toByteStream(
  source: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
  owner: StreamOwner,
): ReadableStream<Uint8Array> {
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  return toCuttableStream(owner, {
    async next() {
      const { done, value } = await iterator.next()
      if (done) return undefined
      return typeof value === 'string' ? encoder.encode(value) : value
    },
    async close() {
      await iterator.return?.()
    },
  })
}

/** Server-sent events (HTML standard, section 9.2) with a comment every `keepAliveMs` of silence. */
export function toEventStream(
  source: AsyncIterable<SseMessage | string>,
  keepAliveMs: number,
  owner: StreamOwner,
): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]()
  let pending: Promise<IteratorResult<SseMessage | string>> | undefined
  let endSilence: (() => void) | undefined
  return toCuttableStream(owner, {
    async next() {
      pending ??= iterator.next()
      const silence = new Promise<undefined>((resolve) => {
        const timer = setTimeout(resolve, keepAliveMs, undefined)
        endSilence = () => {
          clearTimeout(timer)
          resolve(undefined)
        }
      })
      try {
        const result = await Promise.race([pending, silence])
        if (result === undefined) return encoder.encode(': keep-alive\n\n')
        pending = undefined
        return result.done ? undefined : encoder.encode(toEventText(result.value))
      } finally {
        endSilence?.()
      }
    },
    async close() {
      endSilence?.()
      const ended = iterator.return?.()
      // An iterator that waits inside next() ends only when that wait does.
      if (pending === undefined || owner.awaitsEnd) await ended
      else Promise.resolve(ended).catch(() => {})
    },
  })
}

/** One event as text. Data that is no string is sent as JSON; line breaks in other fields throw `TypeError`. */
export function toEventText(message: SseMessage | string): string {
  const { data, event, id, retry, comment } = typeof message === 'string'
    ? { data: message } as SseMessage
    : message
  let text = ''
  if (comment !== undefined) text += toLines('', comment)
  if (event !== undefined) text += `event: ${toOneLine('event', event)}\n`
  if (id !== undefined) text += `id: ${toOneLine('id', String(id))}\n`
  if (retry !== undefined) text += `retry: ${retry}\n`
  if (data !== undefined) text += toLines('data', typeof data === 'string' ? data : JSON.stringify(data))
  return text + '\n'
}

interface ChunkSource {
  /** The next chunk; undefined at the end. */
  next(): Promise<Uint8Array | undefined>
  /** Called once when the client goes away or the stream is cut. */
  close(): Promise<void>
}

function toCuttableStream(owner: StreamOwner, source: ChunkSource): ReadableStream<Uint8Array> {
  const { open } = owner
  let cut: () => void
  return new ReadableStream<Uint8Array>({
    start(controller) {
      cut = () => {
        open.delete(cut)
        controller.error(new DOMException('The server is shutting down', 'AbortError'))
        source.close().catch(() => {})
      }
      open.add(cut)
    },
    async pull(controller) {
      try {
        const chunk = await source.next()
        if (!open.has(cut)) return
        if (chunk !== undefined) return controller.enqueue(chunk)
        open.delete(cut)
        controller.close()
      } catch (error) {
        if (open.delete(cut)) owner.failed(error)
        throw error
      }
    },
    async cancel() {
      if (open.delete(cut)) await source.close()
    },
  }, { highWaterMark: 0 })
}

function toLines(field: string, value: string): string {
  return value.split(/\r\n|\r|\n/).map((line) => `${field}: ${line}\n`).join('')
}

function toOneLine(field: string, value: string): string {
  if (/[\r\n\0]/.test(value)) {
    throw new TypeError(`Cannot send an event: its ${field} is ${JSON.stringify(value)}, want one line`)
  }
  return value
}
