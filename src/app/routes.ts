import type { Context, ErrorHandler, Handler, Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { buildTree } from '../router/build.ts'
import type { LoadedRoute, RouteTable } from '../router/load.ts'
import { createTree, insertMount } from '../router/tree.ts'
import type { Routes } from './app.ts'
import type { Endpoint } from './endpoint.ts'

/** Routes that match nothing, until the folder has been read. */
export function noRoutes(): Routes {
  return { table: { root: '', routes: [], errorScopes: [] }, tree: createTree(), errors: createTree() }
}

/** Makes a loaded table ready to serve. Throws `TypeError` when a mounted app and a file claim the same paths. */
export function toRoutes(table: RouteTable, maxParamLength: number): Routes {
  const errors = createTree<readonly ErrorHandler[]>()
  for (const { pattern, handlers } of table.errorScopes) {
    insertMount(errors, pattern, handlers as readonly ErrorHandler[])
  }
  return { table, tree: buildTree(table, toEndpoint, { maxParamLength }), errors }
}

function toEndpoint(route: LoadedRoute, method: string): Endpoint {
  return {
    handler: toHandler(route, method),
    pattern: route.pattern,
    file: route.file,
    isolated: route.isolated,
    middleware: route.middleware as readonly Middleware[],
    errorHandlers: route.errorHandlers as readonly ErrorHandler[],
  }
}

function toHandler(route: LoadedRoute, method: string): Handler {
  const { error, fetch } = route
  if (error !== null) {
    return () => {
      throw error
    }
  }
  if (route.isolated) return refuseIsolated
  const handler = (route.handlers as Record<string, Handler | undefined>)[method]
  if (handler !== undefined) return handler
  return (ctx) => fetch!(ctx.get.request()) as Promise<Response>
}

/** An isolated handler never runs in the host: without a virtual machine it is refused. */
function refuseIsolated(_ctx: Context): never {
  throw new HttpError(503, 'This handler is isolated, and no virtual machine can run it here', {
    type: 'isolation-unavailable',
    headers: { 'retry-after': '60' },
  })
}
