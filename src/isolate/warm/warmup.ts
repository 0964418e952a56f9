/** The requests that run through a program before its snapshot is taken. */
import { type HeaderPairs, type RequestHead, WARMUP_HEADER } from '../wire/message.ts'
import { DEFAULT_WARMUP } from '../plan/options.ts'
import { matchPath, sampleAppPath } from './path_pattern.ts'
import { sampleBody } from '../hints/sample_body.ts'
import { sampleParameter } from '../hints/parameter_hints.ts'
import { createSeed, encodeRequest } from '../wire/request_frame.ts'
import { type HintedRoute, NO_HINTS, type RequestHints } from '../hints/request_hints.ts'
import { describeShape } from './request_shape.ts'
import type { Body } from './warmup_body.ts'
import { type Client, CLIENTS, PROBE_CLIENT } from './warmup_clients.ts'
import { entryShape, toEntryBody, type WarmupRequest } from './warmup_request.ts'

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
  /** The request's shape in words, for one that is tried out after the warm-up; else null. */
  readonly tried: string | null
}

/** A request that no warm-up has. */
export type Probe = Pick<Warmup, 'handler' | 'frame'>

/** Shapes of a handler's requests that are tried out. */
const TRIED_SHAPES = 4
/** Routes of an app that are probed. */
const PROBED_ROUTES = 3
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
/** Rounds of all clients where the file shows bodies or parameters, as there are several of either. */
const ROUNDS = 2
/** Requests with a body that come without a query, beside those of the first client: that it has one may decide what the body is. */
const BARE_TURNS: ReadonlySet<number> = new Set([6, 9])
/** The turn of the probe. */
const PROBE = -1
/** Of a path's parameter in the rounds after the first, as tables often count. */
const SMALL_IDS: readonly string[] = ['1', '2', '3', '7']
/** For who looks at the query as a text. */
const SEARCH = 'id=927687&list[]=1&list[]=gr%C3%BC%C3%9Fe&a[b][c]=warm+up&x.y=3&flag'

/** How often each handler runs, or what it is asked. */
export type WarmupChoice = number | readonly WarmupRequest[]

/**
 * The warm-up of one route: requests as several clients send them, marked by `x-mayfly-warmup: 1`. Requests of the user's
 * run {@link DEFAULT_WARMUP} times in all for each handler; without any, each handler gets requests for a path of the
 * pattern, three of four with a query as `hints` has it, and with a body as `hints` has it, else a small JSON object, where its method has one; an app
 * is asked for its mount and for the routes that `hints` names. Throws `TypeError` for a request that no handler takes.
 */
export function planWarmup(
  file: string,
  pattern: string,
  targets: readonly WarmupTarget[],
  warmup: WarmupChoice,
  hints: RequestHints = NO_HINTS,
): Warmup[] {
  if (typeof warmup === 'number') {
    return targets.flatMap((target) => {
      const routes = routesOf(target, hints)
      const frames = routes.flatMap((route) => {
        const sample = (client: Client, turn: number) => toSample(pattern, route, hints, client, turn)
        return toFrames(pattern, target, sample, Math.ceil(warmup / routes.length), roundsOf(route, hints))
      })
      return tryFewer(frames)
    })
  }
  const chosen = warmup.map((request) => ({ request, target: findTarget(file, pattern, targets, request) }))
  return targets.flatMap((target) => {
    const own = chosen.filter((entry) => entry.target === target)
    const count = Math.ceil(DEFAULT_WARMUP / own.length)
    return tryFewer(own.flatMap(({ request }) => toFrames(pattern, target, () => request, count)))
  })
}

/** The frames of one handler, with a trial of each shape once, and of {@link TRIED_SHAPES} at most. */
function tryFewer(frames: readonly Warmup[]): Warmup[] {
  const shapes = new Set<string>()
  return frames.map((entry) => {
    const { tried } = entry
    if (tried === null || (!shapes.has(tried) && shapes.size < TRIED_SHAPES)) {
      if (tried !== null) shapes.add(tried)
      return entry
    }
    return { ...entry, tried: null }
  })
}

/**
 * Requests of a client that no warm-up meets: each handler gets one for a path of the pattern, an app for some of its routes, and the
 * last of the user's if there are any. Throws as {@link planWarmup} does.
 */
export function planProbes(
  file: string,
  pattern: string,
  targets: readonly WarmupTarget[],
  warmup: WarmupChoice,
  hints: RequestHints = NO_HINTS,
): Probe[] {
  const chosen = typeof warmup === 'number' ? [] : warmup.map((request) => {
    return { request, target: findTarget(file, pattern, targets, request) }
  })
  return targets.flatMap((target) => {
    const samples = routesOf(target, hints).slice(0, PROBED_ROUTES).map((route) =>
      toSample(pattern, route, hints, PROBE_CLIENT, PROBE)
    )
    const own = chosen.findLast((entry) => entry.target === target)
    const requests = own === undefined ? samples : [...samples, own.request]
    const { handler } = target
    return requests.map((request) => ({ handler, frame: toFrame(pattern, handler, PROBE_CLIENT, request) }))
  })
}

/** What a handler is asked for where the user did not say; `/` is its own path. */
function routesOf({ method }: WarmupTarget, { routes }: RequestHints): readonly HintedRoute[] {
  const own = { method, path: '/' }
  if (method !== null) return [own]
  return [own, ...routes.filter(({ method, path }) => path !== '/' || (method ?? 'GET') !== 'GET')]
}

/** How often each client comes with other values: once where the file shows no values. */
function roundsOf({ method, path }: HintedRoute, { query, bodies, search }: RequestHints): number {
  const hasBody = bodies.length > 0 && method !== null && WITH_BODY.has(method)
  return hasBody || query.length > 0 || search || /[:*]/.test(path) ? ROUNDS : 1
}

/** What a client asks for whose requests the user did not choose. */
function toSample(
  pattern: string,
  route: HintedRoute,
  hints: RequestHints,
  { id, value }: Client,
  turn: number,
): WarmupRequest {
  const method = route.method ?? 'GET'
  const hasBody = hints.bodies.length > 0 && WITH_BODY.has(method)
  const own = turn < CLIENTS.length ? id : SMALL_IDS[turn % SMALL_IDS.length]
  const path = sampleAppPath(pattern, route.path, own!)
  const body = sampleBody({ ...route, method }, hints, turn) ??
    (WITH_BODY.has(method) ? { body: { id } } : {})
  return {
    method,
    path: value === undefined || (hasBody && BARE_TURNS.has(turn))
      ? path
      : `${path}?${toQuery(hints, turn, value)}`,
    ...(method === 'GET' || method === 'HEAD' ? {} : body),
  }
}

/** The query of request `turn`. */
function toQuery({ query, parameters, search }: RequestHints, turn: number, value: string): string {
  if (search && query.length === 0 && turn >= CLIENTS.length) return SEARCH
  const asked = query.length === 0 ? ['id'] : query
  return String(
    new URLSearchParams(asked.map((name) => [name, sampleParameter(parameters, name, turn, value)])),
  )
}

function findTarget(
  file: string,
  pattern: string,
  targets: readonly WarmupTarget[],
  { method = 'GET', path }: WarmupRequest,
): WarmupTarget {
  const { pathname } = new URL(`http://localhost${path}`)
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

/** Frames that run `count` times in all, as each client sends the request, `rounds` times. */
function toFrames(
  pattern: string,
  { handler }: WarmupTarget,
  requestOf: (client: Client, turn: number) => WarmupRequest,
  count: number,
  rounds = 1,
): Warmup[] {
  const frames: Warmup[] = []
  const turns = CLIENTS.length * rounds
  for (let turn = 0; turn < turns; turn++) {
    const share = Math.floor((count + turns - 1 - turn) / turns)
    if (share === 0) continue
    const client = CLIENTS[turn % CLIENTS.length]!
    const request = requestOf(client, turn)
    const tried = turn === 0 ? describeShape(entryShape(request, pattern)) : null
    frames.push({ handler, frame: toFrame(pattern, handler, client, request), count: share, tried })
  }
  return frames
}

function toFrame(
  pattern: string,
  handler: number,
  { origin, headers, remote, left }: Client,
  request: WarmupRequest,
): Uint8Array<ArrayBuffer> {
  const { method = 'GET', path, state, session, validated } = request
  // As a server gives it to a handler.
  const { pathname, href } = new URL(origin + path)
  const params = matchPath(pattern, pathname) ?? {}
  const body = toEntryBody(request)
  const head: RequestHead = {
    handler,
    method,
    url: href.replace(/#[^]*$/, ''),
    path: pathname,
    headers: [...toHeaders(headers, request.headers, body), [WARMUP_HEADER, '1']],
    seed: createSeed(),
    ...(Object.keys(params).length === 0 ? {} : { params }),
    ...(remote ? { ip: '192.0.2.1', peer: '127.0.0.1' } : {}),
    ...left,
    ...(state === undefined ? {} : { state }),
    ...(session === undefined ? {} : { session: { data: session } }),
    ...(validated === undefined ? {} : { validated: { value: validated } }),
  }
  return encodeRequest(head, body?.bytes)
}

/** The client's headers, those of the request in their places, and what belongs to the body. */
function toHeaders(
  client: HeaderPairs,
  given: WarmupRequest['headers'] = {},
  body: Body | null,
): HeaderPairs {
  const own = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  const taken = new Set(own.map(([name]) => name))
  const type = body === null || body.type === '' ? [] : [['content-type', body.type] as const]
  return [
    ...client.filter(([name]) => !taken.has(name)),
    ...own.filter(([name]) => body === null || name !== 'content-type'),
    ...type,
    ...(body === null ? [] : [['content-length', String(body.bytes.length)] as const]),
  ]
}
