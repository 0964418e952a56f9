import type { EventBus } from '../events/bus.ts'
import type { RequestState } from './state.ts'
import type { Awaitable, RenderOptions, WorkerFace } from './types.ts'

/** The peer of a request's socket, as `Deno.serve` gives it. */
export interface PeerInfo {
  readonly remoteAddr: Deno.Addr
}

/** What a context needs of whoever runs it: the router on the host, the bootstrap in a guest. */
export interface ContextHost {
  readonly bus: EventBus
  /** Largest body in bytes that a handler may read. */
  readonly maxBodyBytes: number
  /** True when the address is a proxy whose X-Forwarded-For counts; `hop` is 0 for the socket's peer, '' on a Unix socket. */
  readonly isTrustedProxy: (address: string, hop: number) => boolean
  readonly worker: WorkerFace | undefined
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
