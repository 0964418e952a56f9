/**
 * What an isolated handler may do beyond its own response. It gets status, body and headers of that; what host routes, browsers and
 * proxies trust beyond it is named in `isolated.may`, or stays as middleware left it.
 */
import { isHeaderName } from '../../context/header_text.ts'

/** What `isolated.may` grants. */
export interface Grants {
  /** To replace or end the session. */
  readonly session: boolean
  /** To set cookies. */
  readonly cookies: boolean
  /** To change `ctx.state` for the middleware around it. */
  readonly state: boolean
  /** To set headers of {@link GUARDED_HEADERS}, and those that middleware set: lower-case names, or all of them. */
  readonly headers: ReadonlySet<string> | 'all'
}

/** Headers by which a site protects itself, or instructs the proxies in front of it. */
export const GUARDED_HEADERS: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-allow-private-network',
  'access-control-expose-headers',
  'access-control-max-age',
  'alt-svc',
  'authentication-info',
  'clear-site-data',
  'content-security-policy',
  'content-security-policy-report-only',
  'cross-origin-embedder-policy',
  'cross-origin-embedder-policy-report-only',
  'cross-origin-opener-policy',
  'cross-origin-opener-policy-report-only',
  'cross-origin-resource-policy',
  'document-policy',
  'nel',
  'origin-agent-cluster',
  'permissions-policy',
  'referrer-policy',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-login',
  'strict-transport-security',
  'supports-loading-mode',
  'timing-allow-origin',
  'www-authenticate',
  'x-accel-redirect',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-mayfly-isolation',
  'x-mayfly-runtime',
  'x-permitted-cross-domain-policies',
  'x-request-id',
  'x-sendfile',
  'x-xss-protection',
])

/** Headers of the connection, which are the HTTP server's own: nothing grants them (RFC 9110, section 7.6.1). */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const HEADERS = 'headers:'
/** Words for what {@linkcode isGrant} takes. */
export const WANTED_GRANTS =
  "an array of 'session', 'cookies', 'state', 'headers:*' and 'headers:NAME', of a header that is neither set-cookie ('cookies') nor of the connection"

/** Whether it is the name of a grant. */
export function isGrant(value: unknown): value is string {
  if (typeof value !== 'string') return false
  if (!value.startsWith(HEADERS)) return value === 'session' || value === 'cookies' || value === 'state'
  const name = value.slice(HEADERS.length).toLowerCase()
  return name === '*' || isHeaderName(name) && name !== 'set-cookie' && !CONNECTION_HEADERS.has(name)
}

/** The grants of `isolated.may`. */
export function toGrants(may: readonly string[]): Grants {
  const names = may.filter((grant) => grant.startsWith(HEADERS)).map((grant) => grant.slice(HEADERS.length))
  return {
    session: may.includes('session'),
    cookies: may.includes('cookies'),
    state: may.includes('state'),
    headers: names.includes('*') ? 'all' : new Set(names.map((name) => name.toLowerCase())),
  }
}

/** The grant that a header needs; undefined where it needs none. `own` are those that middleware set. */
export function grantFor(name: string, own: ReadonlyMap<string, string> | undefined): string | undefined {
  if (name === 'set-cookie') return 'cookies'
  // Values of Vary are joined, none goes.
  const isOwn = own !== undefined && own.has(name) && name !== 'vary'
  return isOwn || GUARDED_HEADERS.has(name) || CONNECTION_HEADERS.has(name) ? HEADERS + name : undefined
}

/** Whether `grants` has a grant of {@linkcode grantFor}. */
export function hasGrant({ cookies, headers }: Grants, grant: string): boolean {
  if (grant === 'cookies') return cookies
  const name = grant.slice(HEADERS.length)
  return !CONNECTION_HEADERS.has(name) && (headers === 'all' || headers.has(name))
}
