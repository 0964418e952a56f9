/**
 * A request's way through the router:
 *
 *   handle -> match -> router.use -> folder middleware -> handler -> finish
 *                         |               |                |
 *                         +-------- an error becomes a response where it is thrown, so that the
 *                                   middleware around it sees a response in any case
 *
 * A step that gives a response at once is never made to wait: a synchronous handler without middleware is answered in
 * the same turn of the event loop.
 */
import { RequestContext } from '../context/context.ts'
import { applyPending, toMutable } from '../context/headers.ts'
import type { PeerInfo } from '../context/state.ts'
import type { Awaitable, ErrorHandler, Middleware, Next } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { emit, wants } from '../events/bus.ts'
import { allowedMethods, match } from '../router/match/match.ts'
import { normalizePathname, pathEnd, pathnameOf, pathStart } from '../router/match/pathname.ts'
import { BAD_ESCAPE, FOUND, type Match, NO_METHOD, TOO_LONG } from '../router/match/tree.ts'
import { serveStatic } from '../static/serve_static.ts'
import type { Tenant } from '../tenants/tenant.ts'
import type { App } from './app.ts'
import { answerReload, withReloadScript } from './development/live_reload.ts'
import { describeMissingRoute } from './development/missing_route.ts'
import type { Endpoint } from './endpoint.ts'
import { answerError } from './failures.ts'
import { finish } from './finish.ts'
import { withDeadline } from './timeout.ts'

/** Answers a request. Never throws and never rejects. */
export function handle(app: App, request: Request, peer: PeerInfo | undefined): Awaitable<Response> {
  const { url, method } = request
  const from = pathStart(url)
  const end = pathEnd(url, from)
  const isPlain = from !== -1 && end >= 0
  const ctx = isPlain
    ? new RequestContext(app.host, request, peer, method, url, url.slice(from, end))
    : toResolvedContext(app, request, peer)
  const own = app.liveReload === null ? null : answerReload(app.liveReload, ctx)
  if (own !== null) return own
  const start = app.observed ? performance.now() : 0
  const result = app.tenants === null ? route(app, ctx, isPlain) : routeByHost(app, ctx, isPlain)
  if (result instanceof Response) return finish(app, ctx, result, start)
  return withDeadline(app, ctx, result).then((response) => finish(app, ctx, response, start))
}

/** A path comes from a socket as it was sent; what could be a dot segment goes through the URL parser. */
function toResolvedContext(app: App, request: Request, peer: PeerInfo | undefined): RequestContext {
  const url = URL.parse(request.url)?.href ?? request.url
  const { pathname } = new URL(`http://localhost${pathnameOf(request.url)}`)
  return new RequestContext(app.host, request, peer, request.method, url, pathname)
}

/** A tenant's request goes to its program, inside the middleware that covers everything; others to the routes. */
function routeByHost(app: App, ctx: RequestContext, isPlain: boolean): Awaitable<Response> {
  if (ctx.url.length > app.options.maxUrlLength) return tooLong(app, ctx)
  const go = (tenant: Tenant | null): Awaitable<Response> => {
    if (tenant !== null) {
      ctx.tenant = tenant.name
      ctx.isolated = true
      return runChain(app, ctx, coveringAll(app), () => tenant.answer(ctx), [])
    }
    return app.tenants!.givesRoutes ? route(app, ctx, isPlain) : reject(app, ctx, new HttpError(404))
  }
  try {
    const found = app.tenants!.find(ctx)
    if (!(found instanceof Promise)) return go(found)
    return found.then(go, (error) => reject(app, ctx, error))
  } catch (error) {
    return reject(app, ctx, error)
  }
}

function route(app: App, ctx: RequestContext, isPlain: boolean): Awaitable<Response> {
  if (ctx.url.length > app.options.maxUrlLength) return tooLong(app, ctx)
  const path = isPlain ? ctx.pathname : normalizePathname(ctx.pathname)
  if (path === null) return reject(app, ctx, new HttpError(400, 'The path has a malformed percent escape'))
  const found = match(app.routes.tree, path, ctx.method)
  if (found.outcome === FOUND) {
    ctx.params = found.params
    ctx.route = found.pattern
    ctx.isolated = found.value.isolated
  }
  if (app.middleware.length === 0) return inner(app, ctx, path, found)
  const scoped: Middleware[] = []
  for (const { covers, run } of app.middleware) {
    if (covers === null || covers(path)) scoped.push(run)
  }
  return runChain(app, ctx, scoped, () => inner(app, ctx, path, found), folderErrors(app, path))
}

function tooLong(app: App, ctx: RequestContext): Awaitable<Response> {
  const { maxUrlLength } = app.options
  return reject(app, ctx, new HttpError(414, `The URL is longer than ${maxUrlLength} characters`))
}

/** A request that cannot be matched still passes the middleware that covers everything. */
function reject(app: App, ctx: RequestContext, error: unknown): Awaitable<Response> {
  return runChain(app, ctx, coveringAll(app), () => answerError(app, ctx, error, []), [])
}

function coveringAll(app: App): Middleware[] {
  return app.middleware.filter(({ covers }) => covers === null).map(({ run }) => run)
}

/** What stands inside `router.use`; in development its pages get the script that loads them again. */
function inner(app: App, ctx: RequestContext, path: string, found: Match<Endpoint>): Awaitable<Response> {
  const result = innermost(app, ctx, path, found)
  const { liveReload } = app
  if (liveReload === null) return result
  if (result instanceof Response) return withReloadScript(liveReload, ctx, result)
  return result.then((response) => withReloadScript(liveReload, ctx, response))
}

/** The matched endpoint inside its folders' middleware, or whatever answers where no route does. */
function innermost(app: App, ctx: RequestContext, path: string, found: Match<Endpoint>): Awaitable<Response> {
  if (found.outcome !== FOUND) {
    return runSafely(app, ctx, () => unmatched(app, ctx, path, found), folderErrors(app, path))
  }
  const endpoint = found.value
  if (endpoint.middleware.length === 0) return runHandler(app, ctx, endpoint)
  return runChain(app, ctx, endpoint.middleware, () => runHandler(app, ctx, endpoint), endpoint.errorHandlers)
}

function runHandler(app: App, ctx: RequestContext, endpoint: Endpoint): Awaitable<Response> {
  try {
    const result = endpoint.handler(ctx)
    if (result instanceof Response) return result
    return Promise.resolve(result).then(
      (response) => response instanceof Response ? response : answerNoResponse(app, ctx, endpoint, response),
      (error) => answerError(app, ctx, error, endpoint.errorHandlers),
    )
  } catch (error) {
    return answerError(app, ctx, error, endpoint.errorHandlers)
  }
}

function answerNoResponse(
  app: App,
  ctx: RequestContext,
  endpoint: Endpoint,
  value: unknown,
): Awaitable<Response> {
  const error = new TypeError(
    `Cannot answer ${ctx.method} ${endpoint.pattern}: ${endpoint.file} returned ${
      describe(value)
    }, want a Response`,
  )
  return answerError(app, ctx, error, endpoint.errorHandlers)
}

function describe(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`
}

/** 204 to OPTIONS, a static file, or the error that says why nothing matched. */
function unmatched(app: App, ctx: RequestContext, path: string, found: Match<Endpoint>): Awaitable<Response> {
  switch (found.outcome) {
    case BAD_ESCAPE:
      throw new HttpError(400, 'The path has a malformed percent escape')
    case TOO_LONG:
      throw new HttpError(414, `A path parameter is longer than ${app.options.maxParamLength} characters`)
    case NO_METHOD: {
      const allow = allowedMethods(app.routes.tree, path).join(', ')
      if (ctx.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } })
      throw new HttpError(405, `The method is not allowed here, want ${allow}`, { headers: { allow } })
    }
    default:
      // The asterisk form asks about the server as a whole (RFC 9110, section 9.3.7).
      if (ctx.method === 'OPTIONS' && path === '/*') return new Response(null, { status: 204 })
      return app.statics.length === 0 ? notFound(app, path) : fromStatics(app, ctx, path)
  }
}

async function fromStatics(app: App, ctx: RequestContext, path: string): Promise<Response> {
  const onMissing = wants(app.bus, 'static:missing')
    ? (path: string, reason: string) => emit(app.bus, 'static:missing', { reason, path })
    : undefined
  return await serveStatic(app.statics, ctx.request, path, ctx, onMissing) ?? notFound(app, path)
}

function notFound(app: App, path: string): never {
  throw new HttpError(404, app.development ? describeMissingRoute(app, path) : undefined)
}

function folderErrors(app: App, path: string): readonly ErrorHandler[] {
  const found = match(app.routes.errors, path, 'GET')
  return found.outcome === FOUND ? found.value : []
}

/** Runs middleware around `last`. An error of one becomes the response that the one around it sees. */
function runChain(
  app: App,
  ctx: RequestContext,
  chain: readonly Middleware[],
  last: () => Awaitable<Response>,
  errors: readonly ErrorHandler[],
): Awaitable<Response> {
  const run = (index: number): Awaitable<Response> => {
    if (index === chain.length) return settle(ctx, last())
    let inside: Promise<Response> | undefined
    const next: Next = () => {
      if (inside !== undefined) {
        return Promise.reject(new TypeError('Cannot call next() twice in one middleware: want one call'))
      }
      return inside = Promise.resolve(run(index + 1))
    }
    return runSafely(app, ctx, async () => {
      const response = await chain[index]!(ctx, next)
      if (response instanceof Response) return toMutable(response)
      if (response === undefined && inside !== undefined) return await inside
      throw new TypeError(
        `Cannot answer ${ctx.method} ${ctx.pathname}: middleware ${
          chain[index]!.name || '(anonymous)'
        } returned ${describe(response)}, want a Response or a call of next()`,
      )
    }, errors)
  }
  return run(0)
}

/** Gives middleware a response that it can change, with the headers set so far. */
function settle(ctx: RequestContext, result: Awaitable<Response>): Awaitable<Response> {
  if (!(result instanceof Response)) return result.then((response) => settle(ctx, response))
  const response = toMutable(result)
  if (response.status !== 101) applyPending(ctx, response.headers, ctx.settled)
  ctx.settled = true
  return response
}

function runSafely(
  app: App,
  ctx: RequestContext,
  step: () => Awaitable<Response>,
  errors: readonly ErrorHandler[],
): Awaitable<Response> {
  try {
    const result = step()
    if (result instanceof Response) return result
    return result.catch((error) => answerError(app, ctx, error, errors))
  } catch (error) {
    return answerError(app, ctx, error, errors)
  }
}
