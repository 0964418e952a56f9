/** What kind of request one is, without any of its values: for events, logs, and to distinguish recorded requests. */
import type { IsolatedRequestShape } from '../../events/kinds.ts'

/** The shape of a request. Requests of one shape take the same way through most handlers. `path` may be an app's own, {@link withoutIds}. */
export type RequestShape = IsolatedRequestShape

const SIZES: readonly number[] = [0, 1 << 10, 16 << 10, 256 << 10, 4 << 20]
const MOST_NAMES = 16
const LONGEST_NAME = 64
const LONGEST_PATH = 256
/** Longest part of a query that is looked at, in characters. */
const LONGEST_QUERY = 4096

/** The names of the parameters in the query of a URL or path; linear in what it looks at. */
export function queryNames(url: string): string[] {
  const start = url.indexOf('?')
  if (start === -1) return []
  const query = url.slice(start + 1, start + 1 + LONGEST_QUERY).replace(/#[^]*$/, '')
  const names = new Set<string>()
  for (const name of new URLSearchParams(query).keys()) {
    if (names.size === MOST_NAMES) break
    names.add(encodeURIComponent(name.toWellFormed()).slice(0, LONGEST_NAME))
  }
  return [...names].sort()
}

/** A content type without its parameters; '' for what is none. */
export function mediaType(header: string | null | undefined): string {
  return /^\s*([\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64})\s*(?:;|$)/.exec(header ?? '')?.[1]?.toLowerCase() ?? ''
}

/** The class of a body's size, see {@link RequestShape.bodyBytes}. */
export function sizeClass(bytes: number): number {
  return SIZES.find((size) => bytes <= size) ?? Infinity
}

/** The path of an app's request, with `*` for what looks like somebody's number or key; cut at 256 characters. */
export function withoutIds(path: string): string {
  const segments = path.slice(0, LONGEST_PATH).split('/')
  return segments.map((segment) => /\d|%/.test(segment) || segment.length > 24 ? '*' : segment).join('/')
}

/** In one line: `POST /users/[id]?page&sort, application/json, body up to 1 KiB`. */
export function describeShape({ method, path, query, type, bodyBytes }: RequestShape): string {
  const asked = query.length === 0 ? '' : `?${query.join('&')}`
  const parts = [`${method} ${path}${asked}`]
  if (type !== '') parts.push(type)
  if (bodyBytes === Infinity) parts.push(`body over ${SIZES.at(-1)! >> 20} MiB`)
  else if (bodyBytes > 0) parts.push(`body up to ${bodyBytes >> 10} KiB`)
  return parts.join(', ')
}
