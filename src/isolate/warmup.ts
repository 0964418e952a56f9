/** The requests that run through a program before its snapshot is taken. */
import type { RequestHead } from './message.ts'
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

/** A frame and how often it runs; the frames of a program run in turn. */
export interface Warmup {
  readonly frame: Uint8Array<ArrayBuffer>
  readonly count: number
}

const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
const encoder = new TextEncoder()

/**
 * The warm-up of one route. Requests of the user's run {@link DEFAULT_WARMUP} times in all for each handler; without any, each
 * handler gets requests for a path of the pattern, with an empty JSON object where its method has a body. All say
 * `x-mayfly-warmup: 1`. Throws `TypeError` for a request that no handler of the route takes.
 */
export function planWarmup(
  file: string,
  pattern: string,
  targets: readonly WarmupTarget[],
  { warmup }: ResolvedIsolateOptions,
): Warmup[] {
  if (typeof warmup === 'number') {
    if (warmup === 0) return []
    return targets.map((target) => ({
      frame: toFrame(pattern, target, toSample(pattern, target)),
      count: warmup,
    }))
  }
  const chosen = warmup.map((request) => ({ request, target: findTarget(file, pattern, targets, request) }))
  return chosen.map(({ request, target }) => {
    const shared = chosen.filter((other) => other.target === target).length
    return { frame: toFrame(pattern, target, request), count: Math.ceil(DEFAULT_WARMUP / shared) }
  })
}

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

function toFrame(
  pattern: string,
  { handler }: WarmupTarget,
  { method = 'GET', path, body }: WarmupRequest,
): Uint8Array<ArrayBuffer> {
  const [pathname] = path.split('?')
  const params = matchPath(pattern, pathname) ?? {}
  const bytes = body === undefined
    ? undefined
    : encoder.encode(typeof body === 'string' ? body : JSON.stringify(body))
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  const head: RequestHead = {
    handler,
    method,
    url: `http://localhost${path}`,
    path: pathname,
    headers: [
      ['host', 'localhost'],
      ['user-agent', 'mayfly-warmup'],
      ['accept', '*/*'],
      ['x-mayfly-warmup', '1'],
      ...(bytes === undefined
        ? []
        : [['content-type', type], ['content-length', String(bytes.length)]] as const),
    ],
    seed: createSeed(),
    warm: true,
    ...(Object.keys(params).length === 0 ? {} : { params }),
    ip: '127.0.0.1',
    peer: '127.0.0.1',
  }
  return encodeRequest(head, bytes)
}
