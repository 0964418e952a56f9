/** What middleware may use beyond the public context. Handlers do not need it. */
import { emit, wants } from '../events/bus.ts'
import type { LifecycleEventMap, LifecycleKind } from '../events/kinds.ts'
import { RequestState, type SessionSlot } from './state.ts'
import type { Context } from './types.ts'

export type { SessionSlot } from './state.ts'

/** The state behind a context. Throws `TypeError` for a look-alike. */
export function stateOf(ctx: Context | RequestState): RequestState {
  if (ctx instanceof RequestState) return ctx
  throw new TypeError(
    'Cannot reach behind the context: it was not made by Mayfly, want the one that the handler got',
  )
}

/** True when a listener wants `kind`; ask before building metadata. */
export function wantsEvent(ctx: Context, kind: LifecycleKind): boolean {
  return wants(stateOf(ctx).host.bus, kind)
}

/** Emits an event of this request's router. */
export function emitEvent<K extends LifecycleKind>(
  ctx: Context | RequestState,
  kind: K,
  metadata: LifecycleEventMap[K],
): void {
  emit(stateOf(ctx).host.bus, kind, metadata)
}

/** Gives the request a session, read by `ctx.get.session` and written by `ctx.set.session`. */
export function attachSession(ctx: Context, slot: SessionSlot): void {
  stateOf(ctx).session = slot
}

/** Gives the request what `ctx.get.validated` returns. */
export function attachValidated(ctx: Context, value: unknown): void {
  stateOf(ctx).validated = { value }
}

/** Sets the largest body in bytes for this request; a body over it is 413 when it is read. */
export function limitBody(ctx: Context, bytes: number): void {
  stateOf(ctx).bodyLimit = bytes
}

/** Names the request in events. */
export function nameRequest(ctx: Context, id: string): void {
  stateOf(ctx).requestId = id
}

/** Closes the socket with 1001 at shutdown; it is forgotten when it closes by itself. */
export function trackSocket(ctx: Context | RequestState, socket: WebSocket): void {
  const { sockets } = stateOf(ctx).host
  sockets.add(socket)
  socket.addEventListener('close', () => sockets.delete(socket))
}
