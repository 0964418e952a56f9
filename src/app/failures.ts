import type { RequestContext } from '../context/context.ts'
import type { Awaitable, ErrorHandler } from '../context/types.ts'
import { statusOf } from '../errors/failure.ts'
import { HttpError } from '../errors/http_error.ts'
import { renderFailure } from '../errors/render.ts'
import { wants } from '../events/bus.ts'
import type { App } from './app.ts'
import { placeErrors } from './error_places.ts'
import { logFault } from './fault_log.ts'

/**
 * Turns an error into a response: the folders' `_error.ts` from the inside out, then the hook of `router.catch`, then the
 * default page. One that gives nothing or throws passes the error on; the status stays that of the first error. In development an
 * unexpected error is always shown: the handlers run, and the page has a link to what they answer. Never throws.
 */
export function answerError(
  app: App,
  ctx: RequestContext,
  error: unknown,
  folders: readonly ErrorHandler[],
): Awaitable<Response> {
  const status = statusOf(error)
  ctx.error = error
  const isUnexpected = !(error instanceof HttpError)
  if (isUnexpected) placeErrors(error)
  if (status >= 500 && isUnexpected) reportUnseen(app, ctx, error)
  const handlers = app.errorHook === undefined ? folders : [...folders, app.errorHook]
  if (handlers.length === 0) return answerDefault(app, ctx, error, status, undefined)
  return askHandlers(app, ctx, error, status, handlers)
}

/** The parameter of an address that shows in development what the project's own error handlers answer. */
const HANDLED = 'mayfly-error'

function answerDefault(
  { project }: App,
  { request }: RequestContext,
  error: unknown,
  status: number,
  handled: string | undefined,
): Awaitable<Response> {
  return renderFailure(request.headers, error, status, project === null ? null : { project, handled })
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
      if (!(response instanceof Response)) continue
      if (app.project === null || error instanceof HttpError || ctx.get.query(HANDLED) !== undefined) {
        return withErrorHeaders(response, error)
      }
      // What was thrown must not hide behind the page for users.
      await response.body?.cancel()
      const handled = ctx.method === 'GET' ? toHandledAddress(ctx.url) : undefined
      return answerDefault(app, ctx, error, status, handled)
    } catch (nested) {
      logFault(app.faults, `an error handler failed on ${ctx.method} ${ctx.pathname}`, nested, app.project)
    }
  }
  return answerDefault(app, ctx, error, status, undefined)
}

function toHandledAddress(address: string): string {
  const { pathname, searchParams } = new URL(address, 'http://localhost')
  searchParams.set(HANDLED, '')
  return `${pathname}?${searchParams}`
}

function withErrorHeaders(response: Response, error: unknown): Response {
  if (!(error instanceof HttpError) || error.headers === undefined) return response
  const result = new Response(response.body, response)
  for (const [name, value] of Object.entries(error.headers)) {
    if (!result.headers.has(name)) result.headers.set(name, value)
  }
  return result
}

/** An unexpected error that no listener and no hook would see goes to stderr; in development one that a hook sees too. */
function reportUnseen(app: App, ctx: RequestContext, error: unknown): void {
  const isSeen = app.errorHook !== undefined && !app.development
  if (isSeen || wants(app.bus, 'request:error')) return
  logFault(app.faults, `${ctx.method} ${ctx.pathname} failed`, error, app.project)
}
