import type { RequestContext } from '../context/context.ts'
import { applyPending, toMutable } from '../context/headers.ts'
import { emit, wants } from '../events/bus.ts'
import type { App } from './app.ts'
import { runsInWorkers } from './isolated/mod.ts'
import { LazyRequestMetadata } from './request_metadata.ts'

/** The last step of every request: pending headers, no body for HEAD, the request's events. */
export function finish(app: App, ctx: RequestContext, response: Response, start: number): Response {
  let result = response
  if (ctx.pending !== null && result.status !== 101) {
    result = toMutable(result)
    applyPending(ctx, result.headers, ctx.settled)
  }
  if (ctx.isolated && runsInWorkers(app)) {
    result = toMutable(result)
    result.headers.set('x-mayfly-isolation', 'worker')
  }
  if (ctx.method === 'HEAD') result = withoutBody(result, ctx.peer !== undefined)
  if (start !== 0) report(app, ctx, result, start)
  return result
}

/**
 * The response to HEAD. Over a socket a body of unknown length becomes an empty stream: for no body at all the server
 * would say `Content-Length: 0`, which is not what GET says (RFC 9110, section 8.6).
 */
function withoutBody(response: Response, overSocket: boolean): Response {
  if (response.body === null) return response
  response.body.cancel().catch(() => {})
  const empty = overSocket && !response.headers.has('content-length') ? new Blob([]).stream() : null
  return new Response(empty, response)
}

function report(app: App, ctx: RequestContext, response: Response, start: number): void {
  const metadata = new LazyRequestMetadata(ctx, response, start, app.options.eventQuery)
  emit(app.bus, 'request:complete', metadata)
  if (response.status >= 400 && wants(app.bus, 'request:error')) emit(app.bus, 'request:error', metadata)
}
