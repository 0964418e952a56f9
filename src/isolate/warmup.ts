/** The requests that run through a program before its snapshot is taken. */
import type { HeaderPairs, RequestHead } from './message.ts'
import { DEFAULT_WARMUP, type ResolvedIsolateOptions, type WarmupRequest } from './options.ts'
import { matchPath, samplePath } from './path_pattern.ts'
import { createSeed, encodeRequest } from './request_frame.ts'

/** A handler that is to be warmed up. */
export interface WarmupTarget {
  /** Number of the handler on the wire. */
  readonly handler: number
  /** A method, or null for an app that takes all of them. */
  readonly method: string | null
}

/** A frame and how often it runs. The frames of a program run in turn, until their counts are used up. */
export interface Warmup {
  /** Number of its handler. */
  readonly handler: number
  readonly frame: Uint8Array<ArrayBuffer>
  readonly count: number
}

const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
const encoder = new TextEncoder()

interface Client {
  readonly origin: string
  readonly headers: HeaderPairs
  /** It comes through a socket; what comes through `router.fetch` has no address. */
  readonly remote: boolean
  /** Behind the path of a request that the user did not choose: a handler that met no query takes 200 us more for its first, each time. */
  readonly query?: string
  /** What middleware before the handler left. */
  readonly left?: Pick<RequestHead, 'state' | 'pending'>
}

/** As `securityHeaders` and `requestId` leave them. */
const LEFT_HEADERS: RequestHead['pending'] = {
  single: [['x-content-type-options', 'nosniff'], ['x-request-id', '01J8Z0000000000000000000']],
  appended: [],
}

/**
 * Headers of the clients that there are. Code that was optimised for one of them alone meets the others with a
 * deoptimisation, and as the reset undoes that, in every request (seen with Hono: 340 us instead of 55).
 */
const CLIENTS: readonly Client[] = [
  {
    origin: 'http://localhost:8000',
    headers: [['host', 'localhost:8000'], ['connection', 'keep-alive']],
    remote: true,
  },
  {
    origin: 'http://localhost',
    headers: [['host', 'localhost'], ['user-agent', 'curl/8.5.0'], ['accept', '*/*']],
    remote: false,
    query: '?id=1',
  },
  {
    origin: 'https://example.com',
    headers: [
      ['host', 'example.com'],
      [
        'user-agent',
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0',
      ],
      ['accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'],
      ['accept-encoding', 'gzip, deflate, br, zstd'],
      ['accept-language', 'en-US,en;q=0.9'],
      ['cache-control', 'max-age=0'],
      ['cookie', 'theme=dark; visited=1'],
      ['sec-fetch-dest', 'document'],
      ['sec-fetch-mode', 'navigate'],
      ['upgrade-insecure-requests', '1'],
    ],
    remote: true,
    left: { pending: LEFT_HEADERS },
  },
  {
    origin: 'http://10.0.0.7:8080',
    headers: [
      ['host', '10.0.0.7:8080'],
      ['accept', 'application/json'],
      ['x-forwarded-for', '192.0.2.1'],
      ['x-forwarded-proto', 'https'],
      ['connection', 'close'],
    ],
    remote: true,
    query: '?q=a%20b&page=2&id=7&limit=10',
    left: { state: {}, pending: LEFT_HEADERS },
  },
]

/**
 * The warm-up of one route: requests as several clients send them, marked by `x-mayfly-warmup: 1`. Requests of the user's
 * run {@link DEFAULT_WARMUP} times in all for each handler; without any, each handler gets requests for a path of the
 * pattern, some with a query, and with an empty JSON object where its method has a body. Throws `TypeError` for a request that no handler takes.
 */
export function planWarmup(
  file: string,
  pattern: string,
  targets: readonly WarmupTarget[],
  { warmup }: ResolvedIsolateOptions,
): Warmup[] {
  if (typeof warmup === 'number') {
    return targets.flatMap((target) => toFrames(pattern, target, toSample(pattern, target), warmup, true))
  }
  const chosen = warmup.map((request) => ({ request, target: findTarget(file, pattern, targets, request) }))
  return chosen.flatMap(({ request, target }) => {
    const shared = chosen.filter((other) => other.target === target).length
    return toFrames(pattern, target, request, Math.ceil(DEFAULT_WARMUP / shared))
  })
}

/** What a handler is asked for whose requests the user did not choose. */
function toSample(pattern: string, { method }: WarmupTarget): WarmupRequest {
  const chosen = method ?? 'GET'
  return { method: chosen, path: samplePath(pattern), ...(WITH_BODY.has(chosen) ? { body: {} } : {}) }
}

function findTarget(
  file: string,
  pattern: string,
  targets: readonly WarmupTarget[],
  { method = 'GET', path }: WarmupRequest,
): WarmupTarget {
  const [pathname] = path.split('?')
  const own = matchPath(pattern, pathname) !== null
    ? targets.find((target) => target.method === method)
    : undefined
  const below = pattern === '/' || pathname === pattern || pathname.startsWith(`${pattern}/`)
  const mount = below ? targets.find((target) => target.method === null) : undefined
  const found = own ?? mount
  if (found !== undefined) return found
  throw new TypeError(
    `Cannot warm up ${file}: ${method} ${path} is none of its requests, want a path of ${pattern} and a method that it exports`,
  )
}

/** Frames that run `count` times in all, as each client sends the request. */
function toFrames(
  pattern: string,
  { handler }: WarmupTarget,
  { method = 'GET', path, body }: WarmupRequest,
  count: number,
  isSample = false,
): Warmup[] {
  const [pathname] = path.split('?')
  const params = matchPath(pattern, pathname) ?? {}
  const bytes = body === undefined
    ? undefined
    : encoder.encode(typeof body === 'string' ? body : JSON.stringify(body))
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  const bodyHeaders: HeaderPairs = bytes === undefined
    ? []
    : [['content-type', type], ['content-length', String(bytes.length)]]
  const frames: Warmup[] = []
  for (const [index, { origin, headers, remote, query = '', left }] of CLIENTS.entries()) {
    const head: RequestHead = {
      handler,
      method,
      url: origin + path + (isSample ? query : ''),
      path: pathname,
      headers: [...headers, ...bodyHeaders, ['x-mayfly-warmup', '1']],
      seed: createSeed(),
      ...(Object.keys(params).length === 0 ? {} : { params }),
      ...(remote ? { ip: '192.0.2.1', peer: '127.0.0.1' } : {}),
      ...left,
    }
    const share = Math.floor((count + CLIENTS.length - 1 - index) / CLIENTS.length)
    if (share > 0) frames.push({ handler, frame: encodeRequest(head, bytes), count: share })
  }
  return frames
}
