import type { RequestContext } from '../context/context.ts'
import type { Awaitable, ErrorHandler } from '../context/types.ts'
import { statusOf } from '../errors/failure.ts'
import { HttpError } from '../errors/http_error.ts'
import { renderFailure } from '../errors/render.ts'
import { wants } from '../events/bus.ts'
import type { App } from './app.ts'

/**
 * Turns an error into a response: the folders' `_error.ts` from the inside out, then the hook of `router.catch`, then the
 * default page. One that gives nothing or throws passes the error on; the status stays that of the first error. Never
 * throws.
 */
export function answerError(
  app: App,
  ctx: RequestContext,
  error: unknown,
  folders: readonly ErrorHandler[],
): Awaitable<Response> {
  const status = statusOf(error)
  ctx.error = error
  if (status >= 500 && !(error instanceof HttpError)) reportUnseen(app, ctx, error)
  const handlers = app.errorHook === undefined ? folders : [...folders, app.errorHook]
  if (handlers.length === 0) return renderFailure(ctx.request.headers, error, status, app.project)
  return askHandlers(app, ctx, error, status, handlers)
}

async function askHandlers(
  app: App,
  ctx: RequestContext,
  error: unknown,
  status: number,
  handlers: readonly ErrorHandler[],
): Promise<Response> {
  for (const handler of handlers) {
    // What the handler sends without a status of its own carries the error's.
    ctx.status = status
    try {
      const response = await handler(ctx, { status, error })
      if (response instanceof Response) return withErrorHeaders(response, error)
    } catch (nested) {
      console.error(`mayfly: an error handler failed on ${ctx.method} ${ctx.pathname}\n`, nested)
    }
  }
  return renderFailure(ctx.request.headers, error, status, app.project)
}

function withErrorHeaders(response: Response, error: unknown): Response {
  if (!(error instanceof HttpError) || error.headers === undefined) return response
  const result = new Response(response.body, response)
  for (const [name, value] of Object.entries(error.headers)) {
    if (!result.headers.has(name)) result.headers.set(name, value)
  }
  return result
}

/** An unexpected error that no listener and no hook would see goes to stderr. */
function reportUnseen(app: App, ctx: RequestContext, error: unknown): void {
  if (app.errorHook !== undefined || wants(app.bus, 'request:error')) return
  console.error(`mayfly: ${ctx.method} ${ctx.pathname} failed\n`, error)
}
