import { NO_READINGS, type Readings } from '../../compiler/readings.ts'
import { classify, findMountClashes, type RouteFile, RouteNamesError, shownFile } from './classify.ts'
import { type Crawl, crawl, type CrawledFile } from './crawl.ts'
import {
  createLoadCache,
  forgetOthers,
  type LoadCache,
  loadCached,
  type LoadPass,
  type ModuleVersions,
  type Tried,
} from './load_cache.ts'
import type { RouteLoadError } from './load_error.ts'
import type { RouteNotice } from './notice.ts'
import {
  loadErrorHandler,
  loadMiddleware,
  loadRouteModule,
  type RouteFunction,
  type RouteModule,
} from './route_module.ts'

/** A route as it serves. */
export interface LoadedRoute extends Omit<RouteModule, 'notes'> {
  /** As shown to people: `routes/users/[id].ts`. */
  readonly file: string
  /** Absolute path. */
  readonly path: string
  /** `/users/[id]`. */
  readonly pattern: string
  /** From the `_middleware` files above, outermost folder first. */
  readonly middleware: readonly RouteFunction[]
  /** From the `_error` files above, innermost folder first. */
  readonly errorHandlers: readonly RouteFunction[]
  /** Why the pattern answers 500, or null. A broken route has no methods and is no mount. */
  readonly error: RouteLoadError | null
  /** Grows when the file or anything that it imports changes; 0 at start. */
  readonly version: number
}

/** The routes of one load, sorted by file. Never changed: a reload makes another. */
export interface RouteTable {
  /** Absolute path of the routes folder. */
  readonly root: string
  readonly routes: readonly LoadedRoute[]
  /** Error handlers for paths that no route matches, by the pattern of the folder; parents first. */
  readonly errorScopes: readonly LoadedErrorScope[]
}

/** The error handlers that answer at and below a folder's pattern, innermost folder first. */
export interface LoadedErrorScope {
  readonly pattern: string
  readonly handlers: readonly RouteFunction[]
}

/** Options of {@link loadRoutes}. */
export interface LoadOptions {
  readonly routesDir: string
  readonly onNotice?: (notice: RouteNotice) => void
  /** What the last load left, for a reload. */
  readonly cache?: LoadCache
  readonly versions?: ModuleVersions
  /** What an earlier start read of route files. */
  readonly readings?: Readings | undefined
}

const firstVersions: ModuleVersions = { versionOf: () => 0, noteRead: () => {} }

/**
 * Crawls `routesDir` and imports its route files, one after another in sorted order.
 *
 * A file that fails stays in the table with its error; a file without handlers is left out with a notice. A broken
 * `_middleware` breaks every route below it, as serving them without it could open what it guards; a broken
 * `_error` is left out. With a cache, a file of unchanged version is not imported again, and one that worked
 * before keeps its last good module when it fails.
 *
 * Throws `RouteNamesError` on malformed or doubled names, `Deno.errors.NotFound` without the folder.
 */
export async function loadRoutes(options: LoadOptions): Promise<RouteTable> {
  const { routesDir, onNotice = () => {}, cache = createLoadCache(), versions = firstVersions } = options
  const crawled = await crawl(routesDir)
  const { files, errorScopes, problems } = classify(crawled)
  if (problems.length > 0) throw new RouteNamesError(routesDir, problems)
  const pass: LoadPass = { versions, onNotice, visited: new Set(), readings: options.readings ?? NO_READINGS }
  tellOfStrays(pass, cache, crawled)
  const routes: LoadedRoute[] = []
  for (const file of files) {
    const route = await loadRoute(pass, cache, file, routesDir)
    if (route !== null) routes.push(route)
  }
  const scopes: LoadedErrorScope[] = []
  for (const { pattern, errors } of errorScopes) {
    scopes.push({ pattern: pattern.text, handlers: await loadErrorHandlers(pass, cache, errors, routesDir) })
  }
  for (const { file, pattern, value, error } of forgetOthers(pass, cache.routes)) {
    if (error !== null || serves(value)) onNotice({ kind: 'route:removed', file, pattern })
  }
  for (const { file } of [...forgetOthers(pass, cache.middleware), ...forgetOthers(pass, cache.errors)]) {
    onNotice({ kind: 'route:removed', file, pattern: '' })
  }
  const clashes = findMountClashes(routes.filter((route) => route.mount), routes)
  if (clashes.length > 0) throw new RouteNamesError(routesDir, clashes)
  return { root: crawled.root, routes, errorScopes: scopes }
}

/** The route of a file, or null if it serves nothing. */
async function loadRoute(
  pass: LoadPass,
  cache: LoadCache,
  at: RouteFile,
  routesDir: string,
): Promise<LoadedRoute | null> {
  const { file, path, pattern: { text: pattern } } = at
  const load = (file: string, path: string) => loadRouteModule(file, path, pass.readings)
  const tried = await loadCached(pass, cache.routes, { path, file, pattern }, load)
  tellOfRoute(pass, tried)
  const { value: module, version } = tried.entry
  if (module !== null && !serves(module)) return null
  const middleware: RouteFunction[] = []
  let error = module === null ? tried.entry.error : null
  for (const above of at.middleware) {
    const place = { path: above.path, file: shownFile(routesDir, above.relative), pattern: '' }
    const found = await loadCached(pass, cache.middleware, place, loadMiddleware)
    tellOfChain(pass, found)
    if (found.entry.value !== null) middleware.push(...found.entry.value)
    else error ??= found.entry.error
  }
  const errorHandlers = await loadErrorHandlers(pass, cache, at.errors, routesDir)
  const common = { file, path, pattern, middleware, errorHandlers, error, version }
  if (module === null || error !== null) {
    const isolated = module?.isolated ?? false
    return { ...common, methods: [], handlers: {}, mount: false, fetch: null, isolated }
  }
  const { methods, handlers, mount, fetch, isolated } = module
  return { ...common, methods, handlers, mount, fetch, isolated }
}

/** The handlers of `_error` files; a broken one is reported and left out. */
async function loadErrorHandlers(
  pass: LoadPass,
  cache: LoadCache,
  files: readonly CrawledFile[],
  routesDir: string,
): Promise<RouteFunction[]> {
  const handlers: RouteFunction[] = []
  for (const { path, relative } of files) {
    const place = { path, file: shownFile(routesDir, relative), pattern: '' }
    const found = await loadCached(pass, cache.errors, place, loadErrorHandler)
    tellOfChain(pass, found)
    if (found.entry.value !== null) handlers.push(found.entry.value)
  }
  return handlers
}

function serves(module: RouteModule | null): boolean {
  return module !== null && (module.methods.length > 0 || module.mount)
}

function tellOfRoute(pass: LoadPass, { entry, tried }: Tried<RouteModule>): void {
  if (tried === undefined || entry.error !== null) return
  const { file, pattern, value } = entry
  const served = tried.before !== null && (tried.before.error !== null || serves(tried.before.value))
  const { notes } = value!
  for (const reason of notes) pass.onNotice({ kind: 'route:skipped', file, pattern, reason, reasons: notes })
  if (serves(value)) pass.onNotice({ kind: served ? 'route:reloaded' : 'route:loaded', file, pattern })
  else if (served) pass.onNotice({ kind: 'route:removed', file, pattern })
}

/** Reports each folder with files that no rule takes, unless it was reported before. */
function tellOfStrays({ onNotice }: LoadPass, cache: LoadCache, { name, strays }: Crawl): void {
  const known = new Set(cache.strays)
  cache.strays.clear()
  for (const { file: { relative }, others, near } of strays) {
    const more = others === 0 ? '' : `, and ${others} more of its folder`
    const wanted = near === undefined
      ? `wanted .ts .tsx .js .jsx or .mjs for a route: other files belong outside of the routes, or begin with '_'`
      : `did you mean '${near}'`
    const notice = {
      kind: 'route:skipped',
      file: shownFile(name, relative),
      pattern: '',
      reason: `no rule takes it${more}, ${wanted}`,
    } as const
    const key = `${notice.file}: ${notice.reason}`
    cache.strays.add(key)
    if (!known.has(key)) onNotice(notice)
  }
}

function tellOfChain<V>(pass: LoadPass, { entry, tried }: Tried<V>): void {
  if (tried === undefined || tried.before === null || entry.error !== null) return
  pass.onNotice({ kind: 'route:reloaded', file: entry.file, pattern: '' })
}
