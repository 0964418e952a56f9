/** A request as a tenant's program sees it. */
import { bodyBrokeOff, bodyTooLarge, giveBodyAway, readBytes } from '../context/body.ts'
import { clientAddresses } from '../context/ip.ts'
import type { RequestState } from '../context/state.ts'
import { WARMUP_HEADER } from '../isolate/wire/message.ts'
import { BodySource, isWhole } from '../context/body_source.ts'

/** What a program finds in `ctx.props` beside the request. */
export interface TenantProps {
  readonly tenant: string
  /** The client's address, by the router's `trustProxy`. */
  readonly ip: string | undefined
}

/**
 * The request. A short body is read; another one comes as a stream, up to the limit of the route. Both fail with an `HttpError`: 413 over
 * it, 400 for one that broke off.
 */
export async function toTenantRequest(ctx: RequestState): Promise<Request> {
  const { request, method } = ctx
  // The router upgrades no request of a tenant.
  const dropped = [WARMUP_HEADER, 'upgrade']
  const marked = dropped.some((name) => request.headers.has(name))
  if (request.body === null && ctx.body === null && !marked) return request
  const headers = new Headers(request.headers)
  for (const name of dropped) headers.delete(name)
  if (request.body === null && ctx.body === null) {
    return withSignal(new Request(request.url, { method, headers }), request)
  }
  const streams = ctx.body === null && !isWhole(headers)
  const body = streams ? toStream(ctx, request.body!) : await readBytes(ctx)
  return withSignal(new Request(request.url, { method, headers, body }), request)
}

/** Gives a copy the signal of its request when that is asked for: it costs more than the copy. */
function withSignal(copy: Request, request: Request): Request {
  return Object.defineProperty(copy, 'signal', { get: () => request.signal })
}

function toStream(
  ctx: RequestState,
  body: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const declared = Number(ctx.request.headers.get('content-length') ?? 0)
  if (declared > ctx.bodyLimit) throw bodyTooLarge(ctx, declared)
  const source = new BodySource(body, ctx.bodyLimit, {
    tooLarge: (bytes) => bodyTooLarge(ctx, bytes),
    brokeOff: bodyBrokeOff,
  })
  giveBodyAway(ctx)
  return new ReadableStream({
    async pull(controller) {
      const chunk = await source.take()
      if (chunk === null) controller.close()
      else controller.enqueue(chunk as Uint8Array<ArrayBuffer>)
    },
    cancel: () => source.cancel(),
  }, { highWaterMark: 0 })
}

/** What its program is told of the client. */
export function toProps(ctx: RequestState, tenant: string): TenantProps {
  return { tenant, ip: clientAddresses(ctx).ip }
}
