/** What a program may fetch: which hosts, ports, methods and addresses, and what the host adds for them. */
import type { Awaitable } from '../../context/types.ts'
import { isAddress, LOOPBACK, type Range, toRange } from './addresses.ts'

/** A host that may be asked. */
export interface OutboundHost {
  /** `api.example.com`, `*.example.com` (not `example.com` itself), `*`, or an address; with `:port`, and with `http://` in front for HTTP without TLS. */
  readonly host: string
  /** Ports beside the scheme's own. */
  readonly ports?: readonly number[] | undefined
  /** Default: all. */
  readonly methods?: readonly string[] | undefined
}

/** A header's value, or what gives it for each request. */
export type SecretHeader = string | (() => Awaitable<string>)

/** Hosts that a program may ask, and bounds. */
export interface OutboundList extends OutboundBounds {
  readonly allow: readonly (string | OutboundHost)[]
  /** Headers that the host adds for a host, named as in `allow`: the program never sees them. */
  readonly headers?: Readonly<Record<string, Readonly<Record<string, SecretHeader>>>> | undefined
  /** Addresses that names may lead to though they are private, as `10.1.0.0/16`. */
  readonly addresses?: readonly string[] | undefined
}

/** Bounds of what one request of a program fetches. */
export interface OutboundBounds {
  /** Requests to other hosts, redirects too. Default 50. */
  readonly subRequests?: number | undefined
  /** Bytes of all bodies that are sent. Default 8 MiB. */
  readonly requestBytes?: number | undefined
  /** Bytes of all bodies that are received, decompressed. Default 16 MiB. */
  readonly responseBytes?: number | undefined
  /** Milliseconds until the headers of a response are there, and between two pieces of its body. Default 10 000. */
  readonly idleMs?: number | undefined
  /** Redirects of one request. Default 5. */
  readonly redirects?: number | undefined
}

/** Bounds with their defaults. */
export type ResolvedBounds = { readonly [Name in keyof OutboundBounds]-?: number }

/** What is told to a function that answers a program's requests. */
export interface OutboundContext {
  /** Name of the program, or of the isolated file. */
  readonly program: string
}

/** Answers what a program fetches; it may change and see everything, and does what it likes with it. */
export type OutboundFunction = (request: Request, context: OutboundContext) => Awaitable<Response>

/** A host of a list, taken apart. */
interface Pattern {
  readonly scheme: 'http:' | 'https:'
  /** Lower case; null: each name. */
  readonly host: string | null
  /** Names below `host`. */
  readonly below: boolean
  readonly ports: ReadonlySet<number>
  readonly methods: ReadonlySet<string> | null
}

/** A list that was looked at. */
export interface Policy {
  readonly patterns: readonly Pattern[]
  readonly secrets: readonly {
    readonly pattern: Pattern
    readonly headers: readonly [string, SecretHeader][]
  }[]
  readonly addresses: readonly Range[]
  readonly bounds: ResolvedBounds
  /** For messages. */
  readonly allowed: string
}

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const
const MEMBERS = new Set([
  'allow',
  'headers',
  'addresses',
  'subRequests',
  'requestBytes',
  'responseBytes',
  'idleMs',
  'redirects',
])

/** Bounds where nobody says others. */
export const DEFAULT_BOUNDS: ResolvedBounds = Object.freeze({
  subRequests: 50,
  requestBytes: 8 << 20,
  responseBytes: 16 << 20,
  idleMs: 10_000,
  redirects: 5,
})

const MOST: ResolvedBounds = {
  subRequests: 10_000,
  requestBytes: 1 << 30,
  responseBytes: 1 << 30,
  idleMs: 600_000,
  redirects: 20,
}

/** Looks at a list. Throws `TypeError` or `RangeError` that says what is wrong; no value of a header is in it. */
export function toPolicy(list: OutboundList | readonly (string | OutboundHost)[]): Policy {
  const options: OutboundList = Array.isArray(list) ? { allow: list } : list as OutboundList
  const unknown = Object.keys(options).find((name) => !MEMBERS.has(name))
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot make outbound: it has no member ${unknown}, want one of ${[...MEMBERS].join(' ')}`,
    )
  }
  const { allow, headers = {}, addresses = [] } = options
  if (!Array.isArray(allow)) {
    throw new TypeError('Cannot make outbound: allow is none, want an array of hosts')
  }
  const patterns = allow.map((entry: string | OutboundHost) =>
    typeof entry === 'string' ? toPattern(entry) : toPattern(entry.host, entry)
  )
  return {
    patterns,
    secrets: Object.entries(headers).map(([host, members]) => ({
      pattern: toPattern(host),
      headers: toHeaders(host, members),
    })),
    addresses: addresses.map(toNamedRange),
    bounds: toBounds(options),
    allowed: patterns.length === 0
      ? 'none'
      : allow.map((entry) => typeof entry === 'string' ? entry : entry.host).slice(0, 10).join(', '),
  }
}

/** Why a program may not ask for it; undefined where it may. */
export function findRefusal({ patterns, allowed }: Policy, url: URL, method: string): string | undefined {
  const matching = patterns.filter((pattern) => matches(pattern, url))
  if (matching.length === 0) {
    return `the program may not reach ${url.protocol}//${url.host}, want one of its outbound hosts: ${allowed}`
  }
  if (matching.some(({ methods }) => methods === null || methods.has(method))) return undefined
  return `the program may not ${method} ${url.host}, want one of ${
    matching.flatMap(({ methods }) => [...methods!]).join(', ')
  }`
}

/** Addresses that are allowed for a URL though they are not public: those of the list, the address that the list names, and the machine itself for `localhost`. */
export function namedAddresses({ patterns, addresses }: Policy, url: URL): readonly Range[] {
  const host = hostOf(url)
  const named = patterns.filter((pattern) => pattern.host === host && !pattern.below && matches(pattern, url))
  if (named.length === 0) return addresses
  if (host === 'localhost') return [...addresses, ...LOOPBACK]
  return isAddress(host) ? [...addresses, toRange(host)!] : addresses
}

/** What the host adds for a URL. Rejects with what a function of the list throws. */
export async function secretHeaders({ secrets }: Policy, url: URL): Promise<[string, string][]> {
  const found: [string, string][] = []
  for (const { pattern, headers } of secrets) {
    if (!matches(pattern, url)) continue
    for (const [name, value] of headers) {
      const text = typeof value === 'function' ? await value() : value
      if (!isHeaderValue(text)) throw new TypeError(`Cannot add the header ${name}: its value is none`)
      found.push([name, text])
    }
  }
  return found
}

/** The host of a URL as patterns have it: without brackets, and without the dot that ends a whole name. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** The port of a URL. */
export function portOf({ port, protocol }: URL): number {
  return port === '' ? DEFAULT_PORTS[protocol as 'http:'] : Number(port)
}

function matches({ scheme, host, below, ports }: Pattern, url: URL): boolean {
  if (url.protocol !== scheme || !ports.has(portOf(url))) return false
  const asked = hostOf(url)
  if (host === null) return !isAddress(asked)
  return below ? asked.endsWith(`.${host}`) && !isAddress(asked) : asked === host
}

function toPattern(text: unknown, { ports = [], methods }: Partial<OutboundHost> = {}): Pattern {
  const fault = () =>
    new TypeError(
      `Cannot make outbound: a host is ${
        Deno.inspect(text)
      }, want 'api.example.com', '*.example.com', an address, with :port or http:// if need be`,
    )
  if (typeof text !== 'string') throw fault()
  const [, prefix = 'https://', star, rest = ''] =
    /^(https?:\/\/)?(\*\.|\*(?=$|:))?([^\s/?#@\\*]*)$/.exec(text) ?? []
  if (star !== '*' && rest === '') throw fault()
  let url: URL
  try {
    url = new URL(`${prefix}${star === '*' ? `any${rest}` : rest}`)
  } catch {
    throw fault()
  }
  const host = hostOf(url)
  if (host === '' || (star === '*.' && isAddress(host))) throw fault()
  for (const port of ports) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new RangeError(
        `Cannot make outbound: a port of ${text} is ${Deno.inspect(port)}, want 1 to 65535`,
      )
    }
  }
  if (methods?.some((method) => typeof method !== 'string' || !/^[A-Z]+$/.test(method))) {
    throw new TypeError(
      `Cannot make outbound: methods of ${text} are ${Deno.inspect(methods)}, want 'GET' and the like`,
    )
  }
  return {
    scheme: url.protocol as Pattern['scheme'],
    host: star === '*' ? null : host,
    below: star === '*.',
    ports: new Set([portOf(url), ...ports]),
    methods: methods === undefined ? null : new Set(methods),
  }
}

function toHeaders(host: string, members: Readonly<Record<string, SecretHeader>>): [string, SecretHeader][] {
  return Object.entries(members).map(([name, value]) => {
    const isGood = /^[\w!#$%&'*+.^`|~-]+$/.test(name) && (typeof value === 'function' || isHeaderValue(value))
    if (!isGood) {
      throw new TypeError(
        `Cannot make outbound: the header ${Deno.inspect(name)} of ${host} is none, want a name and a value`,
      )
    }
    return [name.toLowerCase(), value]
  })
}

function toNamedRange(text: string): Range {
  const range = typeof text === 'string' ? toRange(text) : undefined
  if (range !== undefined) return range
  throw new TypeError(
    `Cannot make outbound: addresses has ${Deno.inspect(text)}, want an address or a range as 10.1.0.0/16`,
  )
}

function toBounds(options: OutboundBounds): ResolvedBounds {
  const bounds: Record<keyof ResolvedBounds, number> = { ...DEFAULT_BOUNDS }
  for (const name of Object.keys(DEFAULT_BOUNDS) as (keyof ResolvedBounds)[]) {
    const value = options[name]
    if (value === undefined) continue
    if (!Number.isInteger(value) || value < 0 || value > MOST[name]) {
      throw new RangeError(
        `Cannot make outbound: ${name} is ${Deno.inspect(value)}, want an integer from 0 to ${MOST[name]}`,
      )
    }
    bounds[name] = value
  }
  return bounds
}

function isHeaderValue(value: unknown): value is string {
  return typeof value === 'string' && !/[\0\r\n]/.test(value) && /^[\0-\xff]*$/.test(value)
}
