/** What the Rust half of the guest gives to the Web surface: `globalThis.__mayfly` while the surface is set up. */

/** Where the parts of a URL lie in its href, as the `url` crate has it. Offsets are of ASCII, so they count UTF-16 units as well. */
export type UrlParts = Uint32Array
/** Indices in {@link UrlParts}. */
export const SCHEME_END = 0
export const USERNAME_END = 1
export const HOST_START = 2
export const HOST_END = 3
/** {@link NO_PORT} when there is none. */
export const PORT = 4
export const PATH_START = 5
/** 0 when there is no query, and so for the fragment. */
export const QUERY_START = 6
export const FRAGMENT_START = 7
export const NO_PORT = 65_536

/** What {@link Host.setUrl} changes. */
export const URL_SETTERS = {
  hash: 0,
  host: 1,
  hostname: 2,
  password: 3,
  pathname: 4,
  port: 5,
  protocol: 6,
  search: 7,
  username: 8,
} as const

/** The members that the surface calls. Bytes are `Uint8Array`, texts well-formed UTF-16. */
export interface Host {
  /** Writes to standard error. */
  log(bytes: Uint8Array): number
  /** Fills any length with entropy. */
  entropy(into: Uint8Array): void
  /** Milliseconds since 1970, with fractions. */
  realMs(): number
  /** Milliseconds of the guest's monotonic clock, with fractions. */
  monotonicMs(): number
  startTimer(callback: () => void, ms: number, repeat: boolean): number
  stopTimer(id: number): void
  microtask(callback: () => void): void
  encode(text: string): Uint8Array<ArrayBuffer>
  /** Puts what was read, in UTF-16 units, and written, in bytes, into `counts`. */
  encodeInto(text: string, into: Uint8Array, counts: Uint32Array): void
  /** Without a thought for byte order marks. Throws `TypeError` when it is fatal and the bytes are malformed. */
  decodeUtf8(bytes: Uint8Array, fatal: boolean): string
  /** The lower-case name of an encoding's label, '' for one that nobody knows. */
  encodingName(label: string): string
  /** A decoder of a legacy encoding or UTF-16. */
  decoderNew(name: string, fatal: boolean): number
  decoderPush(id: number, bytes: Uint8Array, last: boolean): string
  decoderFree(id: number): void
  /** The href, or '' when `text` is no URL. `base`: an href or ''. */
  parseUrl(text: string, base: string, parts: UrlParts): string
  /** The new href, or '' when the value is refused. */
  setUrl(href: string, which: number, value: string, parts: UrlParts): string
  /** `application/x-www-form-urlencoded`. */
  parseQuery(text: string): [string, string][]
  formatQuery(pairs: readonly (readonly [string, string])[]): string
  /** SHA-1, SHA-256, SHA-384 or SHA-512. */
  digest(name: string, bytes: Uint8Array): Uint8Array<ArrayBuffer>
  /** Forgiving base64 of the Infra standard. Throws when `text` is none. */
  atob(text: string): string
  /** Throws for a character over U+00FF. */
  btoa(text: string): string
  /** 0 pending, 1 fulfilled, 2 rejected. */
  promiseState?(promise: Promise<unknown>): number
  promiseValue?(promise: Promise<unknown>): unknown
}

/** The host. Its members are called through it, as the guest replaces some later (the console's share, the request's entropy). */
export let host: Host

/** Gives the surface its host; once, before anything of it is used. */
export function setHost(given: Host): void {
  host = given
}
