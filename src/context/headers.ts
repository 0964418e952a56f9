import { MAX_RESPONSE_HEADERS } from './limits.ts'
import type { PendingHeaders, RequestState } from './state.ts'

/** The request's pending headers, made on first use. */
export function pendingHeaders(state: RequestState): PendingHeaders {
  return state.pending ??= { single: new Map(), appended: [] }
}

/** Sets a pending header; the name is lower case. Throws `RangeError` over {@link MAX_RESPONSE_HEADERS}. */
export function setPending(state: RequestState, name: string, value: string): void {
  const pending = pendingHeaders(state)
  if (!pending.single.has(name)) checkCount(pending, name)
  pending.single.set(name, value)
}

/** Adds a value beside those that are there. Throws as {@link setPending}. */
export function appendPending(state: RequestState, name: string, value: string): void {
  const pending = pendingHeaders(state)
  checkCount(pending, name)
  pending.appended.push([name, value])
}

function checkCount({ single, appended }: PendingHeaders, name: string): void {
  if (single.size + appended.length < MAX_RESPONSE_HEADERS) return
  throw new RangeError(
    `Cannot set the header ${name}: ${MAX_RESPONSE_HEADERS} headers are set, and a response has no more`,
  )
}

/**
 * Moves the pending headers onto a response. A header that the response already has stays, unless `replace`: what a
 * middleware sets after the response was made is meant to win. Throws `TypeError` when the headers are immutable.
 */
export function applyPending(state: RequestState, headers: Headers, replace: boolean): void {
  const pending = state.pending
  if (pending === null) return
  // Together: names that come one by one are each compared with all of those before.
  const vary: string[] = []
  for (const [name, value] of pending.single) {
    if (name === 'vary') vary.push(value)
    else if (replace || !headers.has(name)) headers.set(name, value)
  }
  for (const [name, value] of pending.appended) {
    if (name === 'vary') vary.push(value)
    else headers.append(name, value)
  }
  if (vary.length > 0) mergeVary(headers, vary.join(','))
  state.pending = null
}

/** A response whose headers can be changed: the given one, or a copy of one that came from `fetch` or `Response.redirect`. */
export function toMutable(response: Response): Response {
  if (response.status === 101) return response
  try {
    response.headers.delete('x-mayfly-mutable')
    return response
  } catch {
    return new Response(response.body, response)
  }
}

/** Adds the names of `value` to Vary, each once. */
export function mergeVary(headers: Headers, value: string): void {
  const names = new Map<string, string>()
  for (const name of `${headers.get('vary') ?? ''},${value}`.split(',')) {
    const plain = name.trim()
    const key = plain.toLowerCase()
    if (plain !== '' && !names.has(key)) names.set(key, plain)
  }
  headers.set('vary', [...names.values()].join(', '))
}
