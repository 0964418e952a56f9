import type { EventBus } from '../events/bus.ts'
import type { Awaitable, ContextEnv, ContextState, RenderOptions, WorkerFace } from './types.ts'

/** The peer of a request's socket, as `Deno.serve` gives it. */
export interface PeerInfo {
  readonly remoteAddr: Deno.Addr
}

/** What a context needs of its owner: the router on the host, the bootstrap in a guest. */
export interface ContextHost {
  readonly bus: EventBus
  /** Largest body in bytes that a handler may read. */
  readonly maxBodyBytes: number
  /** True when the address is a proxy whose X-Forwarded-For counts; `hop` is 0 for the socket's peer, '' on a Unix socket. */
  readonly isTrustedProxy: (address: string, hop: number) => boolean
  /** Bindings by their names. */
  readonly env: ContextEnv
  /** The pool, from when the router is ready. */
  worker: WorkerFace | undefined
  readonly render: (
    state: RequestState,
    name: string,
    data: Record<string, unknown>,
    options: RenderOptions | undefined,
  ) => Awaitable<Response>
  readonly sendFile: (
    state: RequestState,
    path: string,
    init: ResponseInit & { filename?: string },
  ) => Promise<Response>
  /** What cuts each open stream, for a shutdown that cannot wait for it. */
  readonly streams: Set<() => void>
  /** Called when the body of a response breaks after its headers are sent. */
  readonly streamFailed: (state: RequestState, error: unknown) => void
  /** Open WebSockets, closed with 1001 at shutdown. */
  readonly sockets: Set<WebSocket>
}

/** Headers that `ctx.set` collected: one value a name, and the values that are added beside others. */
export interface PendingHeaders {
  /** By lower-case name. */
  readonly single: Map<string, string>
  readonly appended: [name: string, value: string][]
}

/** A request's session: `data` is null without one, `changed` once a handler replaced it. */
export interface SessionSlot {
  data: object | null
  changed: boolean
}

/** Parameters of a route without any. */
export const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))

/**
 * All that is known of one request. The fields are set in one order, so that every request has the same shape; what
 * costs something stays null until it is asked for.
 */
export class RequestState {
  readonly host: ContextHost
  readonly request: Request
  readonly peer: PeerInfo | undefined
  /** `HEAD` stays `HEAD`. */
  readonly method: string
  readonly url: string
  /** Percent-encoded, dot segments resolved. */
  readonly pathname: string
  params: Readonly<Record<string, string>> = NO_PARAMS
  /** The pattern that matched. */
  route: string | undefined = undefined
  /** The tenant whose program answers. */
  tenant: string | undefined = undefined
  /** True when the route runs in a virtual machine. */
  isolated = false
  /** True once the headers set before the response have been put on it: later ones replace. */
  settled = false
  bag: ContextState | null = null
  pending: PendingHeaders | null = null
  /** 0 until `ctx.set.status`. */
  status = 0
  bodyLimit: number
  body: Promise<Uint8Array<ArrayBuffer>> | null = null
  /** True while the body is on its way: a request that times out then is the client's doing (408). */
  readingBody = false
  json: { value: unknown } | null = null
  search: URLSearchParams | null = null
  cookies: Record<string, string> | null = null
  session: SessionSlot | null = null
  validated: { value: unknown } | null = null
  requestId: string | null = null
  abort: AbortController | null = null
  /** What was thrown, for the events. */
  error: unknown = undefined

  constructor(
    host: ContextHost,
    request: Request,
    peer: PeerInfo | undefined,
    method: string,
    url: string,
    pathname: string,
  ) {
    this.host = host
    this.request = request
    this.peer = peer
    this.method = method
    this.url = url
    this.pathname = pathname
    this.bodyLimit = host.maxBodyBytes
  }
}
