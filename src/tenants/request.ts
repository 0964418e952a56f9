/** A request as a tenant's program sees it. */
import { readBytes } from '../context/body.ts'
import { clientAddresses } from '../context/ip.ts'
import type { RequestState } from '../context/state.ts'
import { WARMUP_HEADER } from '../isolate/wire/message.ts'

/** What a program finds in `ctx.props` beside the request. */
export interface TenantProps {
  readonly tenant: string
  /** The client's address, by the router's `trustProxy`. */
  readonly ip: string | undefined
}

/** The request with its body read, up to the limit of the route. Rejects with `HttpError` 413 over it. */
export async function toTenantRequest(ctx: RequestState): Promise<Request> {
  const { request, method } = ctx
  // The router upgrades no request of a tenant.
  const dropped = [WARMUP_HEADER, 'upgrade']
  const marked = dropped.some((name) => request.headers.has(name))
  if (request.body === null && ctx.body === null && !marked) return request
  const headers = new Headers(request.headers)
  for (const name of dropped) headers.delete(name)
  const body = request.body === null && ctx.body === null ? null : await readBytes(ctx)
  return new Request(request.url, { method, headers, body })
}

/** What its program is told of the client. */
export function toProps(ctx: RequestState, tenant: string): TenantProps {
  return { tenant, ip: clientAddresses(ctx).ip }
}
