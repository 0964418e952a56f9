import { dirname, relative, resolve } from '@std/path'
import { closeDebounce, createDebounce, type Debounce, push } from './debounce.ts'
import { loadRoutes, type RouteTable } from '../load/load.ts'
import { createLoadCache, type LoadCache } from '../load/load_cache.ts'
import {
  closeGraph,
  isBelow,
  type ModuleGraph,
  openGraph,
  reach,
  refresh,
  versionsOf,
} from './module_graph.ts'
import type { RouteNotice } from '../load/notice.ts'
import { closeFolderWatch, createFolderWatch, type FolderWatch, watchFolders } from './watcher.ts'

/** Options of {@link startHotReload}. */
export interface HotReloadOptions {
  readonly routesDir: string
  /**
   * The project: modules in it are reloaded when they change. Default: the working directory if it holds
   * `routesDir`, else the folder that holds it.
   */
  readonly root?: string
  /** Further folders to watch, `viewsDir` above all. They need not exist yet. */
  readonly viewDirs?: readonly string[]
  /** Milliseconds without a change before a reload. Default 150. */
  readonly debounceMs?: number
  /** A new table is complete; requests from now on go by it. */
  readonly onTable: (table: RouteTable) => void
  /** After the table that it is about is in place; of the first load, before `startHotReload` resolves. */
  readonly onNotice?: (notice: RouteNotice) => void
  /** Absolute paths below `viewDirs` that changed, appeared or went, folders too. */
  readonly onViewChange?: (paths: string[]) => void
}

/** Hot reload at work. */
export interface HotReload {
  readonly options: HotReloadOptions
  readonly project: string
  /** Absolute. */
  readonly routesDir: string
  readonly viewDirs: readonly string[]
  readonly graph: ModuleGraph
  readonly cache: LoadCache
  /** Routes and views, with all folders in them. */
  readonly deep: FolderWatch
  /** Folders of imported modules, and the parents of those and of the deep ones, which show when one comes back. */
  readonly flat: FolderWatch
  readonly debounce: Debounce
  /** Real path to path as named, for watched folders reached by a symbolic link. */
  readonly links: ReadonlyMap<string, string>
  readonly onGrow: () => void
  /** The last good table. */
  table: RouteTable
}

/** Stands among changed paths for: something may have been missed, look at every module. */
const EVERYTHING = ''

/**
 * Loads the routes, then reloads them as files change: a changed module and all that import it are evaluated anew,
 * others keep their instance. A failed reload keeps the last good version, and `reload:error` says why.
 *
 * Throws what `loadRoutes` throws; nothing stays open then.
 */
export async function startHotReload(options: HotReloadOptions): Promise<HotReload> {
  const routesDir = resolve(options.routesDir)
  const viewDirs = (options.viewDirs ?? []).map((folder) => resolve(folder))
  const project = options.root === undefined ? defaultProject(routesDir) : resolve(options.root)
  const graph = openGraph(project)
  const links = await readLinks([project, routesDir, ...viewDirs])
  const onPaths = (paths: readonly string[]) => notePaths(hot, paths)
  const onFailure = (error: unknown) => fail(hot, error)
  const hot: HotReload = {
    options,
    project,
    routesDir,
    viewDirs,
    graph,
    cache: createLoadCache(),
    deep: createFolderWatch({ recursive: true, onPaths, onFailure }),
    flat: createFolderWatch({ recursive: false, onPaths, onFailure }),
    debounce: createDebounce(options.debounceMs ?? 150, (paths) => reload(hot, paths)),
    links,
    onGrow: () => push(hot.debounce, [EVERYTHING]),
    table: { root: routesDir, routes: [], errorScopes: [] },
  }
  try {
    refresh(graph, null)
    watchFolders(hot.deep, [routesDir, ...viewDirs])
    watchFolders(hot.flat, flatFolders(hot, []))
    const notices: RouteNotice[] = []
    hot.table = await load(hot, notices)
    await followImports(hot)
    graph.onGrow.add(hot.onGrow)
    for (const notice of notices) options.onNotice?.(notice)
  } catch (error) {
    await stopHotReload(hot)
    throw error
  }
  return hot
}

/** Stops watching; resolves when a reload in progress has ended. May be called twice. */
export async function stopHotReload(hot: HotReload): Promise<void> {
  if (hot.debounce.closed) return
  await closeDebounce(hot.debounce)
  await Promise.all([closeFolderWatch(hot.deep), closeFolderWatch(hot.flat)])
  hot.graph.onGrow.delete(hot.onGrow)
  closeGraph(hot.graph, hot.project)
}

function defaultProject(routesDir: string): string {
  return isBelow(routesDir, Deno.cwd()) ? Deno.cwd() : dirname(routesDir)
}

/** Watchers report real paths on some systems; modules are known by the paths that name them. */
async function readLinks(folders: readonly string[]): Promise<Map<string, string>> {
  const links = new Map<string, string>()
  for (const folder of folders) {
    try {
      const real = await Deno.realPath(folder)
      if (real !== folder) links.set(real, folder)
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error
    }
  }
  return links
}

function asNamed(hot: HotReload, path: string): string {
  for (const [real, named] of hot.links) if (isBelow(path, real)) return named + path.slice(real.length)
  return path
}

/** Keeps of what the system reports the paths that can matter. */
function notePaths(hot: HotReload, paths: readonly string[]): void {
  const relevant = paths.map((path) => asNamed(hot, path)).filter((path) =>
    hot.deep.folders.has(path) || [...hot.deep.folders].some((folder) => isBelow(path, folder)) ||
    hot.graph.nodes.has(path) || hot.flat.folders.has(path)
  )
  // An event without a path says that the system lost some.
  if (paths.length === 0) relevant.push(EVERYTHING)
  if (relevant.length > 0) push(hot.debounce, relevant)
}

function load(hot: HotReload, notices: RouteNotice[]): Promise<RouteTable> {
  return loadRoutes({
    routesDir: hot.options.routesDir,
    cache: hot.cache,
    versions: versionsOf(hot.graph),
    onNotice: (notice) => notices.push(notice),
  })
}

async function reload(hot: HotReload, paths: Set<string>): Promise<void> {
  try {
    const made = [...hot.deep.folders, ...hot.flat.folders].some((folder) => paths.has(folder))
    if (made) {
      watchFolders(hot.deep, [...hot.deep.folders])
      watchFolders(hot.flat, [...hot.flat.folders])
    }
    const views = [...paths].filter((path) => hot.viewDirs.some((folder) => isBelow(path, folder)))
    if (views.length > 0) hot.options.onViewChange?.(views)
    refresh(hot.graph, made || paths.has(EVERYTHING) ? null : paths)
    if (views.length < paths.size || touchesRoutes(hot, views)) await reloadRoutes(hot)
  } catch (error) {
    fail(hot, error)
  }
}

/** Whether a view is also a module or lies among the routes. */
function touchesRoutes(hot: HotReload, views: readonly string[]): boolean {
  return views.some((path) => isBelow(path, hot.routesDir) || hot.graph.nodes.has(path))
}

async function reloadRoutes(hot: HotReload): Promise<void> {
  const notices: RouteNotice[] = []
  let done = false
  hot.graph.onGrow.delete(hot.onGrow)
  try {
    const table = await load(hot, notices)
    await followImports(hot)
    if (hot.debounce.closed) return
    hot.options.onTable(table)
    hot.table = table
    done = true
  } finally {
    if (!hot.debounce.closed) hot.graph.onGrow.add(hot.onGrow)
    for (const notice of notices) if (done || notice.error !== undefined) hot.options.onNotice?.(notice)
  }
}

/** Watches the folders of all modules that the routes reach, in place of those before. */
async function followImports(hot: HotReload): Promise<void> {
  const { routes, middleware, errors } = hot.cache
  const reached = await reach(hot.graph, [...routes.keys(), ...middleware.keys(), ...errors.keys()])
  const folders = flatFolders(hot, reached)
  const known = hot.flat.folders
  if (folders.size !== known.size || [...folders].some((folder) => !known.has(folder))) {
    watchFolders(hot.flat, folders)
    // What changed before the new folders were under watch was not reported.
    if (refresh(hot.graph, null) > 0) push(hot.debounce, [EVERYTHING])
  }
}

function flatFolders(hot: HotReload, modules: Iterable<string>): Set<string> {
  const folders = new Set([...hot.deep.folders].map((folder) => dirname(folder)))
  for (const path of modules) {
    const folder = dirname(path)
    if ([...hot.deep.folders].some((deep) => isBelow(folder, deep))) continue
    folders.add(folder)
    // Its parent shows when the folder itself is made again.
    if (isBelow(dirname(folder), hot.project)) folders.add(dirname(folder))
  }
  return folders
}

function fail(hot: HotReload, error: unknown): void {
  const file = relative(Deno.cwd(), hot.routesDir) || '.'
  const failure = error instanceof Error ? error : new Error(`reload routes: ${String(error)} was thrown`)
  hot.options.onNotice?.({ kind: 'reload:error', file, pattern: '', error: failure })
}
