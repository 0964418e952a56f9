/**
 * Paths as they arrive, and the one form that routes and guards compare.
 *
 * The normal form is the decoded path in which `%2F` and `%25` are the only escapes left: so a slash inside a
 * segment stays apart from a separator, and decoding it again changes nothing. Dot segments and backslashes are
 * resolved as the URL Standard resolves them (https://url.spec.whatwg.org/#path-state).
 */

const SLASH = 47

/** The path of an absolute URL, as written: from the first `/` after the authority to `?` or `#`. */
export function pathnameOf(url: string): string {
  const authority = url.indexOf('://')
  const start = url.indexOf('/', authority === -1 ? 0 : authority + 3)
  if (start === -1) return '/'
  let end = url.indexOf('?', start)
  if (end === -1) end = url.length
  const hash = url.indexOf('#', start)
  if (hash !== -1 && hash < end) end = hash
  return url.slice(start, end)
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
