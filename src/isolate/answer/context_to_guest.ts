import { bodyBrokeOff, bodyTooLarge, giveBodyAway, readBytes } from '../../context/body.ts'
import { clientAddresses } from '../../context/ip.ts'
import { NO_PARAMS, type PendingHeaders, type RequestState } from '../../context/state.ts'
import type { Awaitable } from '../../context/types.ts'
import { beginBody, BodySource, isWhole } from '../../context/body_source.ts'
import { toJsonMembers } from '../wire/json_members.ts'
import { type HeaderPairs, type PendingData, type RequestHead, WARMUP_HEADER } from '../wire/message.ts'
import { createSeed, encodeRequest } from '../wire/request_frame.ts'

/** A request as its handler gets it. */
export interface GuestRequest {
  readonly frame: Uint8Array<ArrayBuffer>
  /** Where the rest of its body comes from; null: the frame has all of it. */
  readonly rest: BodySource | null
}

/**
 * The frame that brings a request to a handler; at once when it has no body. 413 for a body over the limit of the request. `streams`:
 * a large body, or one that is long in coming, may come behind the frame. Rejects with `RangeError` when headers, state and session
 * together are over what a frame's header may have.
 */
export function toGuestRequest(
  ctx: RequestState,
  handler: number,
  streams: boolean,
): Awaitable<GuestRequest> {
  const { body, headers } = ctx.request
  // One that middleware has read is here.
  if (streams && body !== null && ctx.body === null && !isWhole(headers)) {
    return beginRequest(ctx, handler, body)
  }
  const frame = toGuestFrame(ctx, handler)
  return frame instanceof Promise ? frame.then((frame) => ({ frame, rest: null })) : { frame, rest: null }
}

/** The same with the whole body. */
export function toGuestFrame(ctx: RequestState, handler: number): Awaitable<Uint8Array<ArrayBuffer>> {
  if (ctx.request.body === null && ctx.body === null) return encodeRequest(toRequestHead(ctx, handler))
  return readBytes(ctx).then((body) => encodeRequest(toRequestHead(ctx, handler), body))
}

async function beginRequest(
  ctx: RequestState,
  handler: number,
  body: ReadableStream<Uint8Array>,
): Promise<GuestRequest> {
  const declared = Number(ctx.request.headers.get('content-length') ?? 0)
  if (declared > ctx.bodyLimit) throw bodyTooLarge(ctx, declared)
  const source = new BodySource(body, ctx.bodyLimit, {
    tooLarge: (bytes) => bodyTooLarge(ctx, bytes),
    brokeOff: bodyBrokeOff,
  })
  ctx.readingBody = true
  const { first, rest } = await beginBody(source).finally(() => ctx.readingBody = false)
  if (rest === null) ctx.body = Promise.resolve(first)
  else giveBodyAway(ctx)
  const head = toRequestHead(ctx, handler)
  return { frame: encodeRequest(rest === null ? head : { ...head, hasRest: true }, first), rest }
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
