/**
 * Paths as they arrive, and the one form that routes and guards compare.
 *
 * The normal form is the decoded path in which `%2F` and `%25` are the only escapes left: so a slash inside a
 * segment stays apart from a separator, and decoding it again changes nothing. Dot segments and backslashes are
 * resolved as the URL Standard resolves them (https://url.spec.whatwg.org/#path-state).
 */

const SLASH = 47
const COLON = 58
const QUERY = 63
const HASH = 35
const PERCENT = 37
const BACKSLASH = 92
const DOT = 46

/** Where the path of an absolute URL starts: the first `/` after the authority, or -1. */
export function pathStart(url: string): number {
  // http: and https:, which all but Unix sockets have, need no search for the authority.
  if (url.charCodeAt(4) === COLON) return url.indexOf('/', 7)
  if (url.charCodeAt(5) === COLON) return url.indexOf('/', 8)
  const authority = url.indexOf('://')
  return url.indexOf('/', authority === -1 ? 0 : authority + 3)
}

/**
 * Where the path that starts at `start` ends (at `?`, `#` or the end), or the complement of that when the path is not plain:
 * it holds `%`, `\\` or `/.`, so that `normalizePathname` may change it. One pass, since every request takes it.
 */
export function pathEnd(url: string, start: number): number {
  let plain = true
  let before = 0
  let index = start
  for (; index < url.length; index++) {
    const code = url.charCodeAt(index)
    if (code === QUERY || code === HASH) break
    if (code === PERCENT || code === BACKSLASH || (code === DOT && before === SLASH)) plain = false
    before = code
  }
  return plain ? index : ~index
}

/** The path of an absolute URL, as written: from the first `/` after the authority to `?` or `#`. */
export function pathnameOf(url: string): string {
  const start = pathStart(url)
  if (start === -1) return '/'
  const end = pathEnd(url, start)
  return url.slice(start, end < 0 ? ~end : end)
}

/**
 * The normal form of a path that came over a socket; null if it holds a malformed escape (answer 400).
 *
 * A path without `%`, `/.` and `\` comes back as it is, without an allocation. Trailing and double slashes stay:
 * they are for the matcher to judge.
 */
export function normalizePathname(raw: string): string | null {
  if (raw.indexOf('%') === -1 && raw.indexOf('/.') === -1 && raw.indexOf('\\') === -1) return raw
  return decodeEscapes(raw.charCodeAt(0) === SLASH ? resolveDots(raw) : raw)
}

function resolveDots(raw: string): string {
  if (!/\\|\/(?:\.|%2e)/i.test(raw)) return raw
  return new URL('http://host' + raw.replace(/[?#]/g, encodeURIComponent)).pathname
}

/** Decodes every escape but `%2F` and `%25`, which come back in upper case; null if one is malformed. */
export function decodeEscapes(path: string): string | null {
  if (path.indexOf('%') === -1) return path
  try {
    return decodeURIComponent(path.replace(/%25/g, '%2525').replace(/%2f/gi, '%252F'))
  } catch {
    return null
  }
}

/** The text that a piece of a path in normal form stands for. */
export function decodeRest(piece: string): string {
  return piece.indexOf('%') === -1 ? piece : piece.replaceAll('%2F', '/').replaceAll('%25', '%')
}

/** The normal form of literal text: the inverse of {@link decodeRest} for text of one segment. */
export function escapeLiteral(text: string): string {
  return text.indexOf('%') === -1 ? text : text.replaceAll('%', '%25')
}
