import { readBytes } from '../../context/body.ts'
import { clientAddresses } from '../../context/ip.ts'
import { NO_PARAMS, type PendingHeaders, type RequestState } from '../../context/state.ts'
import type { Awaitable } from '../../context/types.ts'
import { toJsonMembers } from '../wire/json_members.ts'
import { type HeaderPairs, type PendingData, type RequestHead, WARMUP_HEADER } from '../wire/message.ts'
import { createSeed, encodeRequest } from '../wire/request_frame.ts'

/**
 * The frame that brings a request to a handler; at once when it has no body. 413 for a body over the limit of the request.
 * Rejects with `RangeError` when headers, state and session together are over what a frame's header may have.
 */
export function toGuestFrame(ctx: RequestState, handler: number): Awaitable<Uint8Array<ArrayBuffer>> {
  if (ctx.request.body === null && ctx.body === null) return encodeRequest(toRequestHead(ctx, handler))
  return readBytes(ctx).then((body) => encodeRequest(toRequestHead(ctx, handler), body))
}

/** What a guest learns of a request beside its body. */
function toRequestHead(ctx: RequestState, handler: number): RequestHead {
  const { params, bag, session, validated, pending, status } = ctx
  const { ip, peer } = clientAddresses(ctx)
  return {
    handler,
    method: ctx.method,
    url: ctx.url,
    path: ctx.pathname,
    headers: toPairs(ctx.request.headers),
    seed: createSeed(),
    params: params === NO_PARAMS || isEmpty(params) ? undefined : params,
    ip,
    peer,
    state: bag === null ? undefined : JSON.parse(toJsonMembers(bag)),
    session: session === null ? undefined : { data: session.data },
    validated: validated === null ? undefined : { value: validated.value },
    pending: pending === null ? undefined : toPendingDefaults(pending),
    status: status === 0 ? undefined : status,
  }
}

/** Headers for which `ctx.send` has a default, that gives way to what middleware set. */
const DEFAULTED = ['content-type', 'cache-control']

/** What middleware collected and the handler needs for its own response; the rest stays in the host. */
function toPendingDefaults({ single }: PendingHeaders): PendingData | undefined {
  const pairs: [string, string][] = []
  for (const name of DEFAULTED) {
    const value = single.get(name)
    if (value !== undefined) pairs.push([name, value])
  }
  return pairs.length === 0 ? undefined : { single: pairs, appended: [] }
}

/** As `[...headers]`, in a third of its time; without the mark of the warm-up, which no client may bear. */
function toPairs(headers: Headers): HeaderPairs {
  const pairs: [string, string][] = []
  headers.forEach((value, name) => {
    if (name !== WARMUP_HEADER) pairs.push([name, value])
  })
  return pairs
}

function isEmpty(record: Readonly<Record<string, string>>): boolean {
  for (const _ in record) return false
  return true
}
