/** Hosts: which one a request names, and whose it is. Ports, case and a last dot make no difference. */

/** Characters of a name in DNS. */
const MAX_HOST = 253
/** A name as it stands on the wire: letters, digits, `-` and `_` between dots; IDNs are there as `xn--`. */
const NAME = /^(?!.*\.\.)[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/
/** What a Host header may be made of, addresses of IPv6 among it. */
const AUTHORITY = /^[\w.-]+(?::\d{0,5})?$|^\[[\da-fA-F:.]+\](?::\d{0,5})?$/

/**
 * The host that a request names: that of its URL, which is the Host header, or `:authority`, or what stands in an absolute request line.
 * Null where it, or the Host header, is not a plain name.
 */
export function hostOf(url: string, header: string | null): string | null {
  if (header !== null && (header.length > MAX_HOST + 7 || !AUTHORITY.test(header))) return null
  const start = url.indexOf('://')
  if (start === -1) return null
  const slash = url.indexOf('/', start + 3)
  const authority = url.slice(start + 3, slash === -1 ? url.length : slash)
  if (authority.length > MAX_HOST + 7 || !AUTHORITY.test(authority)) return null
  if (authority.startsWith('[')) return authority.slice(0, authority.indexOf(']') + 1).toLowerCase()
  const colon = authority.indexOf(':')
  const named = (colon === -1 ? authority : authority.slice(0, colon)).toLowerCase()
  const name = named.endsWith('.') ? named.slice(0, -1) : named
  return name.length <= MAX_HOST && NAME.test(name) ? name : null
}

/**
 * A host as settings name it, in the form of {@linkcode hostOf}: `example.com`, `bücher.example`, `*.example.com` for all names below
 * one, `*` for all. Null for what is none: a port, a path, a star elsewhere.
 */
export function toPattern(text: string): string | null {
  if (text === '*') return text
  const isWild = text.startsWith('*.')
  const name = isWild ? text.slice(2) : text
  if (/[\s*/\\@?#%:[\]]/.test(name)) return /^\[[\da-fA-F:.]+\]$/.test(text) ? text.toLowerCase() : null
  const ascii = URL.parse(`http://${name}/`)?.hostname
  if (ascii === undefined) return null
  const host = hostOf(`http://${ascii}/`, null)
  return host === null ? null : isWild ? `*.${host}` : host
}

/** Whose hosts are whose: the name itself first, then the longest `*.` above it, then `*`. */
export class HostTable<T> {
  readonly #byPattern = new Map<string, T>()

  /** Gives a pattern to somebody, unless it has somebody already, who is given back then. */
  claim(pattern: string, owner: T): T | undefined {
    const known = this.#byPattern.get(pattern)
    if (known === undefined) this.#byPattern.set(pattern, owner)
    return known
  }

  /** Who was given a pattern. */
  ownerOf(pattern: string): T | undefined {
    return this.#byPattern.get(pattern)
  }

  /** Whose a host is. Looks as often as the name has dots. */
  find(host: string): T | undefined {
    const exact = this.#byPattern.get(host)
    if (exact !== undefined) return exact
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
      const found = this.#byPattern.get(`*${host.slice(dot)}`)
      if (found !== undefined) return found
    }
    return this.#byPattern.get('*')
  }
}
