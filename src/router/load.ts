import { toFileUrl } from '@std/path'
import { classify, type RouteFile, RouteNamesError } from './classify.ts'
import { crawl, type CrawledFile } from './crawl.ts'
import { reasonOf, RouteLoadError } from './load_error.ts'
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
  /** Why the pattern answers 500, or null. A broken route has no methods. */
  readonly error: RouteLoadError | null
  /** Grows when the file or anything that it imports changes; 0 at start. */
  readonly version: number
}

/** The routes of one load, sorted by file. Never changed: a reload makes another. */
export interface RouteTable {
  /** Absolute path of the routes folder. */
  readonly root: string
  readonly routes: readonly LoadedRoute[]
}

/** Something to tell about a file, named as the lifecycle event that it becomes. */
export interface RouteNotice {
  readonly kind:
    | 'route:loaded'
    | 'route:reloaded'
    | 'route:removed'
    | 'route:skipped'
    | 'route:error'
    | 'reload:error'
  readonly file: string
  /** '' for a `_middleware` or `_error` file and for the folder as a whole. */
  readonly pattern: string
  /** Why, for `route:skipped`. */
  readonly reason?: string
  readonly error?: Error
}

/** Gives each file the URL to import; hot reload puts a version into it. */
export interface ModuleVersions {
  versionOf(path: string): number
  urlOf(path: string): string
  /** Called before a file that is not imported, and so resolves nothing, is read. */
  noteRead(path: string): void
}

/** What earlier loads brought, by absolute path. */
export interface LoadCache {
  readonly routes: Map<string, CacheEntry<RouteModule>>
  readonly middleware: Map<string, CacheEntry<RouteFunction[]>>
  readonly errors: Map<string, CacheEntry<RouteFunction>>
}

/** The last try for a file, and the last one that worked. */
export interface CacheEntry<V> {
  version: number
  value: V | null
  error: RouteLoadError | null
}

/** Makes the empty cache of a first load. */
export function createLoadCache(): LoadCache {
  return { routes: new Map(), middleware: new Map(), errors: new Map() }
}

const firstVersions: ModuleVersions = {
  versionOf: () => 0,
  urlOf: (path) => toFileUrl(path).href,
  noteRead: () => {},
}

/** Options of {@link loadRoutes}. */
export interface LoadOptions {
  readonly routesDir: string
  readonly onNotice?: (notice: RouteNotice) => void
  /** Reloads pass what the last load left. */
  readonly cache?: LoadCache
  readonly versions?: ModuleVersions
}

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
  const { onNotice = () => {}, cache = createLoadCache(), versions = firstVersions } = options
  const crawled = await crawl(options.routesDir)
  const { files, problems } = classify(crawled)
  if (problems.length > 0) throw new RouteNamesError(options.routesDir, problems)
  const load: Load = { cache, versions, onNotice, visited: new Set() }
  const routes: LoadedRoute[] = []
  for (const file of files) {
    const route = await loadRoute(load, file, crawled.name)
    if (route !== null) routes.push(route)
  }
  for (const entries of [cache.routes, cache.middleware, cache.errors]) {
    for (const path of entries.keys()) if (!load.visited.has(path)) entries.delete(path)
  }
  return { root: crawled.root, routes }
}

interface Load {
  readonly cache: LoadCache
  readonly versions: ModuleVersions
  readonly onNotice: (notice: RouteNotice) => void
  /** Files of this load; the cache forgets the others. */
  readonly visited: Set<string>
}

async function loadRoute(load: Load, file: RouteFile, routesDir: string): Promise<LoadedRoute | null> {
  const name = file.file
  const pattern = file.pattern.text
  const entry = await cached(load, load.cache.routes, file.path, name, pattern, loadRouteModule)
  const module = entry.value
  if (entry.fresh && module !== null && entry.error === null) {
    for (const reason of module.notes) load.onNotice({ kind: 'route:skipped', file: name, pattern, reason })
  }
  if (module !== null && module.methods.length === 0 && !module.mount) return null
  const middleware: RouteFunction[] = []
  let error = module === null ? entry.error : null
  for (const above of file.middleware) {
    const shown = shownName(routesDir, above)
    const found = await cached(load, load.cache.middleware, above.path, shown, '', loadMiddleware)
    if (found.value !== null) middleware.push(...found.value)
    else error ??= found.error
  }
  const errorHandlers: RouteFunction[] = []
  for (const above of file.errors) {
    const shown = shownName(routesDir, above)
    const found = await cached(load, load.cache.errors, above.path, shown, '', loadErrorHandler)
    if (found.value !== null) errorHandlers.push(found.value)
  }
  const broken = error !== null || module === null
  return {
    file: name,
    path: file.path,
    pattern,
    methods: broken ? [] : module.methods,
    handlers: broken ? {} : module.handlers,
    mount: broken ? false : module.mount,
    fetch: broken ? null : module.fetch,
    isolated: module?.isolated ?? false,
    middleware,
    errorHandlers,
    error,
    version: entry.version,
  }
}

function shownName(routesDir: string, file: CrawledFile): string {
  return `${routesDir.replace(/[\\/]+$/, '').replace(/^\.\//, '')}/${file.relative}`
}

type Loader<V> = (file: string, path: string, url: string) => Promise<V>

/** The entry of a file, tried anew if its version changed; `fresh` says that this call did. */
async function cached<V>(
  load: Load,
  entries: Map<string, CacheEntry<V>>,
  path: string,
  file: string,
  pattern: string,
  loader: Loader<V>,
): Promise<CacheEntry<V> & { fresh: boolean }> {
  load.visited.add(path)
  const version = load.versions.versionOf(path)
  const known = entries.get(path)
  if (known !== undefined && known.version === version) return { ...known, fresh: false }
  load.versions.noteRead(path)
  const entry: CacheEntry<V> = { version, value: null, error: null }
  try {
    entry.value = await loader(file, path, load.versions.urlOf(path))
  } catch (error) {
    entry.error = error instanceof RouteLoadError
      ? error
      : new RouteLoadError(file, reasonOf(error), { cause: error })
    entry.value = known?.value ?? null
    const kind = known === undefined ? 'route:error' : 'reload:error'
    load.onNotice({ kind, file, pattern, error: entry.error })
  }
  entries.set(path, entry)
  return { ...entry, fresh: true }
}
