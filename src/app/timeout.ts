import type { RequestContext } from '../context/context.ts'
import { bodyTooSlow } from '../context/body.ts'
import { HttpError } from '../errors/http_error.ts'
import type { App } from './app.ts'
import { clearDeadline, setDeadline } from './deadlines.ts'
import { answerError } from './failures.ts'
import { logFault } from './fault_log.ts'
import { waitedForStart } from './isolated/mod.ts'

/**
 * The response, or 504 when it does not come in time, or 408 when the client's body still does not, or 503 when the server
 * shuts down before it comes. The request's signal is aborted then, and a response that comes too late is closed unread. The time
 * of a request that waited for the start of its isolated program begins once more after that wait.
 */
export function withDeadline(app: App, ctx: RequestContext, pending: Promise<Response>): Promise<Response> {
  return new Promise((resolve) => {
    let expired = false
    const isUpload = ctx.method !== 'GET' && ctx.method !== 'HEAD'
    const expire = () => {
      // The wait for a program's start is not the handler's time: that begins anew.
      if (!app.closing && waitedForStart(app, ctx)) {
        deadline = setDeadline(app.deadlines, expire, isUpload)
        return
      }
      expired = true
      const error = toError(app, ctx)
      ctx.abort ??= new AbortController()
      ctx.abort.abort(error)
      resolve(answerError(app, ctx, error, []))
    }
    let deadline = setDeadline(app.deadlines, expire, isUpload)
    pending.then((response) => {
      clearDeadline(app.deadlines, deadline)
      if (expired) response.body?.cancel().catch(() => {})
      else resolve(response)
    }, (error) => {
      // Nothing in the pipeline rejects unless it has a bug; the request must be answered even then.
      clearDeadline(app.deadlines, deadline)
      logFault(app.faults, `${ctx.method} ${ctx.pathname} could not be answered`, error, null)
      resolve(new Response(null, { status: 500 }))
    })
  })
}

function toError(app: App, ctx: RequestContext): HttpError {
  if (app.closing) return new HttpError(503, 'The server is shutting down')
  if (ctx.readingBody) return bodyTooSlow()
  return new HttpError(504, `No answer within ${app.options.requestTimeoutMs} ms`)
}
