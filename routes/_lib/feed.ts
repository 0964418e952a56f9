/** The last lifecycle events, and live readers of them. Everything is bounded: a slow reader loses the oldest. */
import type { LifecycleEvent } from '@mayfly/mayfly'

/** An event as visitors see it: no address, no user agent, no query string, no error message. */
export interface FeedEntry {
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly kind: string
  /** A short sentence of the metadata. */
  readonly text: string
  readonly method?: string
  readonly status?: number
  readonly url?: string
  readonly ms?: number
}

/** What the feed has seen since the site began. */
export interface Feed {
  readonly recent: FeedEntry[]
  readonly readers: Set<Reader>
  readonly counts: Map<string, number>
  requests: number
  /** Milliseconds that the last render of each view took. */
  readonly renders: Map<string, { count: number; ms: number }>
  nextId: number
}

interface Reader {
  readonly wants: (entry: FeedEntry) => boolean
  readonly waiting: FeedEntry[]
  wake: (() => void) | undefined
  closed: boolean
}

const KEPT = 60
const READERS = 200
const WAITING = 100

/** A feed that has seen nothing. */
export function createFeed(): Feed {
  return { recent: [], readers: new Set(), counts: new Map(), requests: 0, renders: new Map(), nextId: 1 }
}

/** Takes in one event. */
export function record(feed: Feed, event: LifecycleEvent): void {
  const entry = toEntry(feed.nextId++, event)
  feed.counts.set(entry.kind, (feed.counts.get(entry.kind) ?? 0) + 1)
  if (event.kind === 'request:complete') feed.requests++
  if (event.kind === 'view:rendered') countRender(feed, event.metadata.name, event.metadata.durationMs)
  feed.recent.push(entry)
  if (feed.recent.length > KEPT) feed.recent.shift()
  for (const reader of feed.readers) {
    if (!reader.wants(entry)) continue
    reader.waiting.push(entry)
    if (reader.waiting.length > WAITING) reader.waiting.shift()
    reader.wake?.()
  }
}

/** True when no more readers are taken. */
export function isFull(feed: Feed): boolean {
  return feed.readers.size >= READERS
}

/** Entries as they come, from now on. Ends at `signal` or when the loop over it is left. */
export function follow(
  feed: Feed,
  wants: (entry: FeedEntry) => boolean,
  signal: AbortSignal,
): AsyncIterableIterator<FeedEntry> {
  const reader: Reader = { wants, waiting: [], wake: undefined, closed: false }
  const close = () => {
    reader.closed = true
    feed.readers.delete(reader)
    signal.removeEventListener('abort', close)
    reader.wake?.()
  }
  feed.readers.add(reader)
  if (signal.aborted) close()
  else signal.addEventListener('abort', close)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      while (reader.waiting.length === 0 && !reader.closed) {
        await new Promise<void>((resolve) => reader.wake = resolve)
        reader.wake = undefined
      }
      if (reader.closed) return { done: true, value: undefined }
      return { done: false, value: reader.waiting.shift()! }
    },
    return() {
      close()
      return Promise.resolve({ done: true, value: undefined })
    },
  }
}

function countRender(feed: Feed, name: string, ms: number): void {
  const key = name.replace(/\.dve$/, '')
  const known = feed.renders.get(key)
  if (known === undefined && feed.renders.size >= 200) return
  feed.renders.set(key, { count: (known?.count ?? 0) + 1, ms })
}

function toEntry(id: number, event: LifecycleEvent): FeedEntry {
  const { kind, timestamp: at } = event
  if (kind === 'request:complete' || kind === 'request:error') {
    const { method, status, url, route, durationMs } = event.metadata
    const text = `${method} ${shorten(url)} ${status}${route === undefined ? '' : `, route ${route}`}`
    return { id, at, kind, text, method, status, url: shorten(url), ms: durationMs }
  }
  return { id, at, kind, text: describe(event.metadata) }
}

/** The fields that say something and give nobody away. */
function describe(metadata: Readonly<Record<string, unknown>> | object): string {
  const parts: string[] = []
  for (
    const name of [
      'name',
      'pattern',
      'reason',
      'index',
      'queueDepth',
      'timeoutMs',
      'durationMs',
      'port',
    ] as const
  ) {
    const value = (metadata as Record<string, unknown>)[name]
    if (typeof value === 'number') parts.push(`${name} ${Math.round(value * 1000) / 1000}`)
    else if (typeof value === 'string') parts.push(`${name} ${shorten(value)}`)
  }
  return parts.join(', ')
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
