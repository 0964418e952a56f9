/** Requests that warm a handler up, as people write them. */
import { WARMUP_HEADER } from '../wire/message.ts'
import { matchPath } from './path_pattern.ts'
import { mediaType, queryNames, type RequestShape, sizeClass, withoutIds } from './request_shape.ts'
import { type Body, toBody } from './warmup_body.ts'

/** A request that warms a handler up. It must hold nobody's data: what it leaves in memory stays in the snapshot. */
export interface WarmupRequest {
  /** Default `GET`. */
  readonly method?: string
  /** Path with query; must match the route. */
  readonly path: string
  /** Headers by name; they take the place of those that the warm-up's clients send. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * By `content-type`: members of a form, `{ name: 'ann' }`; fields of a multipart form,
   * `[{ name, value }, { name, filename, type, base64 }]`; anything as JSON; of other types text, or `{ base64: 'AAEC' }`.
   * Without that header text is text, and anything else JSON.
   */
  readonly body?: unknown
  /** `ctx.state`, the session's data (null without one) and what `validate` accepted, as middleware leaves them. */
  readonly state?: Readonly<Record<string, unknown>>
  readonly session?: object | null
  readonly validated?: unknown
  /** For who reads it. */
  readonly note?: string
}

/** Entries of one warm-up at most. */
export const MAX_WARMUP_REQUESTS = 1000

/** A method as HTTP has it. */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** What the frame says by itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  WARMUP_HEADER,
])

type Member = keyof WarmupRequest

/** For each member, what it must be. */
const MEMBERS: Readonly<Record<Member, { wanted: string; is: (value: unknown) => boolean }>> = {
  method: { wanted: 'a method', is: (value) => typeof value === 'string' && METHOD.test(value) },
  path: {
    wanted: "a path that begins with '/'",
    is: isPath,
  },
  headers: { wanted: `an object of text, without ${[...OWN_HEADERS].join(', ')}`, is: isHeaders },
  body: { wanted: '', is: () => true },
  state: { wanted: 'an object', is: isObject },
  session: { wanted: 'an object or null', is: (value) => value === null || isObject(value) },
  validated: { wanted: '', is: () => true },
  note: { wanted: 'text', is: (value) => typeof value === 'string' },
}

/** What is wrong with an entry, with the value and what is wanted; undefined for a sound one. */
export function findEntryFault(value: unknown): string | undefined {
  if (!isObject(value)) {
    return `it is ${Deno.inspect(value)}, want an object of ${Object.keys(MEMBERS).join(', ')}`
  }
  for (const [name, given] of Object.entries(value as object)) {
    if (!Object.hasOwn(MEMBERS, name)) {
      return `${name} is no member, want one of ${Object.keys(MEMBERS).join(', ')}`
    }
    const { wanted, is } = MEMBERS[name as Member]
    if (given !== undefined && !is(given)) return `${name} is ${Deno.inspect(given)}, want ${wanted}`
  }
  const entry = value as Partial<WarmupRequest>
  if (entry.path === undefined) return `path is missing, want ${MEMBERS.path.wanted}`
  try {
    toEntryBody(entry as WarmupRequest)
  } catch (error) {
    if (error instanceof TypeError) return error.message
    throw error
  }
  return undefined
}

/** The body of an entry and its content type. Throws `TypeError` for one that its type cannot have. */
export function toEntryBody({ headers = {}, body }: WarmupRequest): Body | null {
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')
  return body === undefined ? null : toBody(given?.[1], body)
}

/** The shape of an entry for a route of this pattern. */
export function entryShape(entry: WarmupRequest, pattern: string): RequestShape {
  const { pathname } = new URL(`http://localhost${entry.path}`)
  const body = toEntryBody(entry)
  return {
    method: entry.method ?? 'GET',
    path: matchPath(pattern, pathname) === null ? withoutIds(pathname) : pattern,
    query: queryNames(entry.path),
    type: mediaType(body?.type),
    bodyBytes: sizeClass(body?.bytes.length ?? 0),
  }
}

function isPath(value: unknown): boolean {
  const url = typeof value === 'string' && value.startsWith('/')
    ? URL.parse(`http://localhost${value}`)
    : null
  try {
    return url !== null && decodeURIComponent(url.pathname) !== ''
  } catch {
    return false
  }
}

function isHeaders(value: unknown): boolean {
  if (!isObject(value)) return false
  try {
    for (const [name, text] of Object.entries(value as object)) {
      if (typeof text !== 'string' || OWN_HEADERS.has(name.toLowerCase())) return false
      new Headers([[name, text]])
    }
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
