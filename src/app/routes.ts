import type { ErrorHandler, Handler, Middleware } from '../context/types.ts'
import { buildTree } from '../router/load/build.ts'
import type { LoadedRoute, RouteTable } from '../router/load/load.ts'
import { ANY_METHOD } from '../router/match/methods.ts'
import { createTree, insertMount } from '../router/match/tree.ts'
import type { App, Routes } from './app.ts'
import type { Endpoint } from './endpoint.ts'
import { toIsolatedHandler } from './isolated/mod.ts'

/** Routes that match nothing, until the folder has been read. */
export function noRoutes(): Routes {
  return { table: { root: '', routes: [], errorScopes: [] }, tree: createTree(), errors: createTree() }
}

/** Makes a loaded table ready to serve. Throws `TypeError` when a mounted app and a file claim the same paths. */
export function toRoutes(app: App, table: RouteTable): Routes {
  const { maxParamLength } = app.options
  const toValue = (route: LoadedRoute, method: string) => toEndpoint(app, route, method)
  const errors = createTree<readonly ErrorHandler[]>()
  for (const { pattern, handlers } of table.errorScopes) {
    insertMount(errors, pattern, handlers as readonly ErrorHandler[])
  }
  return { table, tree: buildTree(table, toValue, { maxParamLength }), errors }
}

function toEndpoint(app: App, route: LoadedRoute, method: string): Endpoint {
  return {
    handler: toHandler(app, route, method),
    pattern: route.pattern,
    file: route.file,
    isolated: route.isolated,
    middleware: route.middleware as readonly Middleware[],
    errorHandlers: route.errorHandlers as readonly ErrorHandler[],
  }
}

function toHandler(app: App, route: LoadedRoute, method: string): Handler {
  const { error, fetch } = route
  if (error !== null) {
    return () => {
      throw error
    }
  }
  if (route.isolated) return toIsolatedHandler(app, route, method === ANY_METHOD ? null : method)
  const handler = (route.handlers as Record<string, Handler | undefined>)[method]
  if (handler !== undefined) return handler
  return (ctx) => fetch!(ctx.get.request()) as Promise<Response>
}
