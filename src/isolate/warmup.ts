/** The requests that run through a program before its snapshot is taken. */
import type { HeaderPairs, RequestHead } from './message.ts'
import { DEFAULT_WARMUP, type ResolvedIsolateOptions, type WarmupRequest } from './options.ts'
import { matchPath, samplePath } from './path_pattern.ts'
import { createSeed, encodeRequest } from './request_frame.ts'
import { NO_HINTS, type RequestHints } from './request_hints.ts'
import { type Client, CLIENTS } from './warmup_clients.ts'

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

/**
 * The warm-up of one route: requests as several clients send them, marked by `x-mayfly-warmup: 1`. Requests of the user's
 * run {@link DEFAULT_WARMUP} times in all for each handler; without any, each handler gets requests for a path of the
 * pattern, every other with a query as `hints` has it, and with an empty JSON object, or a form, where its method has a body. Throws `TypeError` for a request that no handler takes.
 */
export function planWarmup(
  file: string,
  pattern: string,
  targets: readonly WarmupTarget[],
  { warmup }: ResolvedIsolateOptions,
  hints: RequestHints = NO_HINTS,
): Warmup[] {
  if (typeof warmup === 'number') {
    return targets.flatMap((target) => {
      return toFrames(pattern, target, (client) => toSample(pattern, target, hints, client), warmup)
    })
  }
  const chosen = warmup.map((request) => ({ request, target: findTarget(file, pattern, targets, request) }))
  return chosen.flatMap(({ request, target }) => {
    const shared = chosen.filter((other) => other.target === target).length
    return toFrames(pattern, target, () => request, Math.ceil(DEFAULT_WARMUP / shared))
  })
}

/** What a client asks for whose requests the user did not choose. */
function toSample(
  pattern: string,
  { method }: WarmupTarget,
  hints: RequestHints,
  { value, form }: Client,
): WarmupRequest {
  const chosen = method ?? 'GET'
  const path = samplePath(pattern)
  const body = form && hints.form ? new URLSearchParams({ id: '1' }) : {}
  return {
    method: chosen,
    path: value === undefined ? path : `${path}?${toQuery(hints.query, value)}`,
    ...(WITH_BODY.has(chosen) ? { body } : {}),
  }
}

function toQuery(names: readonly string[], value: string): URLSearchParams {
  const asked = names.length === 0 ? ['id'] : names
  return new URLSearchParams(asked.map((name) => [name, value]))
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
  requestOf: (client: Client) => WarmupRequest,
  count: number,
): Warmup[] {
  const frames: Warmup[] = []
  for (const [index, client] of CLIENTS.entries()) {
    const share = Math.floor((count + CLIENTS.length - 1 - index) / CLIENTS.length)
    if (share > 0) {
      frames.push({ handler, frame: toFrame(pattern, handler, client, requestOf(client)), count: share })
    }
  }
  return frames
}

function toFrame(
  pattern: string,
  handler: number,
  { origin, headers, remote, left }: Client,
  { method = 'GET', path, body }: WarmupRequest,
): Uint8Array<ArrayBuffer> {
  const [pathname] = path.split('?')
  const params = matchPath(pattern, pathname) ?? {}
  const [type, bytes] = toBody(body)
  const bodyHeaders: HeaderPairs = bytes === undefined
    ? []
    : [['content-type', type], ['content-length', String(bytes.length)]]
  const head: RequestHead = {
    handler,
    method,
    url: origin + path,
    path: pathname,
    headers: [...headers, ...bodyHeaders, ['x-mayfly-warmup', '1']],
    seed: createSeed(),
    ...(Object.keys(params).length === 0 ? {} : { params }),
    ...(remote ? { ip: '192.0.2.1', peer: '127.0.0.1' } : {}),
    ...left,
  }
  return encodeRequest(head, bytes)
}

/** Content type and bytes of a body. */
function toBody(body: unknown): [type: string, bytes: Uint8Array<ArrayBuffer> | undefined] {
  if (body === undefined) return ['', undefined]
  if (typeof body === 'string') return ['text/plain; charset=utf-8', encoder.encode(body)]
  if (body instanceof URLSearchParams) {
    return ['application/x-www-form-urlencoded;charset=UTF-8', encoder.encode(String(body))]
  }
  return ['application/json', encoder.encode(JSON.stringify(body))]
}
