/** URLs, parsed by the `url` crate. https://url.spec.whatwg.org/#url-class */
import {
  FRAGMENT_START,
  host,
  HOST_END,
  HOST_START,
  NO_PORT,
  PATH_START,
  PORT,
  QUERY_START,
  SCHEME_END,
  URL_SETTERS,
  USERNAME_END,
} from './host.ts'
import { refuse } from './missing.ts'
import { linkSearch, replaceSearch, URLSearchParams } from './url_search_params.ts'
import { expose, need, toScalarText } from './webidl.ts'

/** Schemes whose URLs have an origin of scheme, host and port. */
const WITH_ORIGIN: ReadonlySet<string> = new Set(['http:', 'https:', 'ws:', 'wss:', 'ftp:'])

export class URL {
  #href: string
  readonly #parts = new Uint32Array(8)
  #search: URLSearchParams | null = null

  constructor(url: unknown, base?: unknown) {
    need(arguments.length, 1, 'new URL')
    const text = toScalarText(url)
    const from = base === undefined ? undefined : toScalarText(base)
    this.#href = parseHref(text, from, this.#parts)
    if (this.#href === '') {
      throw new TypeError(`Invalid URL: '${text}'${from === undefined ? '' : ` with base '${from}'`}`)
    }
  }

  static parse(url: unknown, base?: unknown): URL | null {
    need(arguments.length, 1, 'URL.parse')
    return URL.canParse(url, base) ? new URL(url, base) : null
  }

  static canParse(url: unknown, base?: unknown): boolean {
    need(arguments.length, 1, 'URL.canParse')
    const from = base === undefined ? undefined : toScalarText(base)
    return parseHref(toScalarText(url), from, new Uint32Array(8)) !== ''
  }

  static createObjectURL(_blob: unknown): never {
    throw refuse('URL.createObjectURL')
  }

  static revokeObjectURL(_url: unknown): never {
    throw refuse('URL.revokeObjectURL')
  }

  get hash(): string {
    const start = this.#parts[FRAGMENT_START]
    return start === 0 || start + 1 === this.#href.length ? '' : this.#href.slice(start)
  }

  set hash(value: unknown) {
    this.#set('hash', value)
  }

  get host(): string {
    const parts = this.#parts
    // A path of two slashes without a host stands behind `/.`, so the host does not always end where the path begins.
    return this.#href.slice(parts[HOST_START], parts[PORT] === NO_PORT ? parts[HOST_END] : parts[PATH_START])
  }

  set host(value: unknown) {
    this.#set('host', value)
  }

  get hostname(): string {
    return this.#href.slice(this.#parts[HOST_START], this.#parts[HOST_END])
  }

  set hostname(value: unknown) {
    this.#set('hostname', value)
  }

  get href(): string {
    return this.#href
  }

  set href(value: unknown) {
    const text = toScalarText(value)
    const href = host.parseUrl(text, '', this.#parts)
    if (href === '') throw new TypeError(`Invalid URL: '${text}'`)
    this.#href = href
    this.#renewSearch()
  }

  get origin(): string {
    const { protocol } = this
    if (WITH_ORIGIN.has(protocol)) return `${protocol}//${this.host}`
    if (protocol !== 'blob:') return 'null'
    const inner = URL.parse(this.pathname)
    return inner !== null && /^https?:$/.test(inner.protocol) ? inner.origin : 'null'
  }

  get password(): string {
    const from = this.#parts[USERNAME_END]
    const to = this.#parts[HOST_START]
    return this.#hasAuthority() && to - from > 1 && this.#href[from] === ':'
      ? this.#href.slice(from + 1, to - 1)
      : ''
  }

  set password(value: unknown) {
    this.#set('password', value)
  }

  get pathname(): string {
    const end = this.#parts[QUERY_START] || this.#parts[FRAGMENT_START] || this.#href.length
    return this.#href.slice(this.#parts[PATH_START], end)
  }

  set pathname(value: unknown) {
    this.#set('pathname', value)
  }

  get port(): string {
    const port = this.#parts[PORT]
    return port === NO_PORT ? '' : String(port)
  }

  set port(value: unknown) {
    this.#set('port', value)
  }

  get protocol(): string {
    return this.#href.slice(0, this.#parts[SCHEME_END] + 1)
  }

  set protocol(value: unknown) {
    this.#set('protocol', value)
  }

  get search(): string {
    const start = this.#parts[QUERY_START]
    const end = this.#parts[FRAGMENT_START] || this.#href.length
    return start === 0 || start + 1 >= end ? '' : this.#href.slice(start, end)
  }

  set search(value: unknown) {
    this.#set('search', value)
    this.#renewSearch()
  }

  get username(): string {
    const start = this.#parts[SCHEME_END] + '://'.length
    const end = this.#parts[USERNAME_END]
    return this.#hasAuthority() && start < end ? this.#href.slice(start, end) : ''
  }

  set username(value: unknown) {
    this.#set('username', value)
  }

  get searchParams(): URLSearchParams {
    if (this.#search === null) {
      const search = this.#search = new URLSearchParams(this.search)
      linkSearch(search, () => this.#set('search', search.toString()))
    }
    return this.#search
  }

  toString(): string {
    return this.#href
  }

  toJSON(): string {
    return this.#href
  }

  /** A value that the standard refuses changes nothing. */
  #set(part: keyof typeof URL_SETTERS, value: unknown): void {
    const href = host.setUrl(this.#href, URL_SETTERS[part], toScalarText(value), this.#parts)
    if (href !== '') this.#href = href
    else host.parseUrl(this.#href, '', this.#parts)
  }

  #renewSearch(): void {
    if (this.#search !== null) replaceSearch(this.#search, this.search.slice(1))
  }

  #hasAuthority(): boolean {
    return this.#href.startsWith('://', this.#parts[SCHEME_END])
  }
}

expose(URL, 'URL')

/** '' when the text, or the base, is no URL. */
function parseHref(text: string, base: string | undefined, parts: Uint32Array): string {
  if (base === undefined) return host.parseUrl(text, '', parts)
  const root = host.parseUrl(base, '', parts)
  return root === '' ? '' : host.parseUrl(text, root, parts)
}
