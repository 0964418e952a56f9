import { readBytes } from '../context/body.ts'
import { clientAddress } from '../context/ip.ts'
import type { RequestState } from '../context/state.ts'
import type { Awaitable } from '../context/types.ts'
import { toJsonMembers } from './json_members.ts'
import type { RequestHead } from './message.ts'
import { createSeed, encodeRequest } from './request_frame.ts'

/**
 * The frame that brings a request to a handler; at once when it has no body. 413 for a body over the limit of the request.
 * Rejects with `RangeError` when headers, state and session together are over what a frame's header may have.
 */
export function toGuestFrame(ctx: RequestState, handler: number): Awaitable<Uint8Array<ArrayBuffer>> {
  if (ctx.request.body === null && ctx.body === null) return encodeRequest(toRequestHead(ctx, handler))
  return readBytes(ctx).then((body) => encodeRequest(toRequestHead(ctx, handler), body))
}

/** What a guest learns of a request beside its body. */
export function toRequestHead(ctx: RequestState, handler: number): RequestHead {
  const { params, bag, session, validated, pending, status } = ctx
  const ip = clientAddress(ctx, false)
  const peer = clientAddress(ctx, true)
  return {
    handler,
    method: ctx.method,
    url: ctx.url,
    path: ctx.pathname,
    headers: [...ctx.request.headers],
    seed: createSeed(),
    ...(isEmpty(params) ? {} : { params }),
    ...(ip === undefined ? {} : { ip }),
    ...(peer === undefined ? {} : { peer }),
    ...(bag === null ? {} : { state: JSON.parse(toJsonMembers(bag)) }),
    ...(session === null ? {} : { session: { data: session.data } }),
    ...(validated === null ? {} : { validated: { value: validated.value } }),
    ...(pending === null ? {} : { pending: { single: [...pending.single], appended: pending.appended } }),
    ...(status === 0 ? {} : { status }),
  }
}

function isEmpty(record: Readonly<Record<string, string>>): boolean {
  for (const _ in record) return false
  return true
}
