import { registerHooks } from 'node:module'
import { fromFileUrl, toFileUrl } from '@std/path'
import { tryLiteral } from '../../compiler/literal_value.ts'
import { listExports } from '../../compiler/module_exports.ts'
import { listImports } from '../../compiler/module_imports.ts'
import { ModuleSyntaxError, parseModule } from '../../compiler/module_tree.ts'
import type { ModuleVersions } from '../load/load_cache.ts'

/** A module of the project. */
interface ModuleNode {
  /** 0 for the instance that a plain import gives; part of the URL from 1. */
  version: number
  /** State of the file when this version was given, see `stampOf`; '' before its first load. */
  stamp: string
  /** The stamp was taken so soon after a write that another write could leave it as it is. */
  racy: boolean
  readonly imports: Set<string>
  readonly importers: Set<string>
  /** The version whose imports {@link imports} lists. */
  importsVersion: number
  /** The version whose text was searched for imports, -1 before the first. */
  scannedVersion: number
}

/**
 * The modules of a project, who imports whom, and the version of each.
 *
 * Deno keeps every module that it loaded by its URL, for the life of the process. So a changed module must get a new
 * URL, and with it each module that imports it, up to the routes; all others keep their instance. A resolve hook
 * puts the version into the URL of every import, also of those deep inside. As the module map belongs to the
 * process, so does the graph: all routers with hot reload share it, and the hook goes when the last one closes.
 */
export interface ModuleGraph {
  readonly nodes: Map<string, ModuleNode>
  /** Project folders, with the number of routers that opened each. */
  readonly roots: Map<string, number>
  /** Called when the hook meets a module for the first time. */
  readonly onGrow: Set<() => void>
  /** The last version given out. */
  lastVersion: number
  hook: { deregister(): void } | null
}

const MARK = '?mayfly='
/** Mayfly's own sources: `src/` and `mod.ts` beside it are never reloaded. */
const OWN_SOURCES = new URL('../../', import.meta.url).href
const OWN_ENTRY = new URL('../../../mod.ts', import.meta.url).href
const SOURCE = /\.[mc]?[jt]sx?$/

let shared: ModuleGraph | null = null

/** Opens the graph for the project in `root`; the first call installs the hook. Pair it with `closeGraph`. */
export function openGraph(root: string): ModuleGraph {
  shared ??= { nodes: new Map(), roots: new Map(), onGrow: new Set(), lastVersion: 0, hook: null }
  const graph = shared
  graph.roots.set(root, (graph.roots.get(root) ?? 0) + 1)
  graph.hook ??= registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      const url = versionedUrl(graph, resolved.url, context.parentURL)
      return url === resolved.url ? resolved : { ...resolved, url }
    },
  })
  return graph
}

/** Undoes one `openGraph`; the last one removes the hook. Versions stay, as the modules do. */
export function closeGraph(graph: ModuleGraph, root: string): void {
  const count = graph.roots.get(root) ?? 0
  if (count > 1) graph.roots.set(root, count - 1)
  else graph.roots.delete(root)
  if (graph.roots.size > 0) return
  graph.hook?.deregister()
  graph.hook = null
}

/** The URL to load in place of `url`, with the edge from its importer noted. */
function versionedUrl(graph: ModuleGraph, url: string, parentUrl: string | undefined): string {
  const target = parseUrl(graph, url)
  if (target === null) return url
  const node = nodeOf(graph, target.path)
  const parent = parentUrl === undefined ? null : parseUrl(graph, parentUrl)
  if (parent !== null) {
    const importer = nodeOf(graph, parent.path)
    if (parent.version > importer.importsVersion) {
      clearImports(graph, parent.path, importer)
      importer.importsVersion = parent.version
    }
    link(graph, parent.path, target.path)
  }
  checkStamp(graph, target.path, node)
  return node.version === 0 ? url : `${toFileUrl(target.path).href}${MARK}${node.version}`
}

/** Path and version of a project module, or null for all that is not one, other queries included. */
function parseUrl(graph: ModuleGraph, url: string): { path: string; version: number } | null {
  if (!url.startsWith('file:') || url.startsWith(OWN_SOURCES) || url.startsWith(OWN_ENTRY)) return null
  const mark = url.indexOf(MARK)
  const bare = mark === -1 ? url : url.slice(0, mark)
  if (bare.includes('?') || bare.includes('#') || bare.includes('/node_modules/')) return null
  const path = fromFileUrl(bare)
  for (const root of graph.roots.keys()) {
    if (isBelow(path, root)) return { path, version: mark === -1 ? 0 : Number(url.slice(mark + MARK.length)) }
  }
  return null
}

/** Whether `path` is `folder` or lies in it. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : folder + '/')
}

function nodeOf(graph: ModuleGraph, path: string): ModuleNode {
  let node = graph.nodes.get(path)
  if (node === undefined) {
    node = {
      version: 0,
      stamp: '',
      racy: false,
      imports: new Set(),
      importers: new Set(),
      importsVersion: 0,
      scannedVersion: -1,
    }
    graph.nodes.set(path, node)
    for (const listener of graph.onGrow) listener()
  }
  return node
}

function link(graph: ModuleGraph, importer: string, imported: string): void {
  if (importer === imported) return
  nodeOf(graph, importer).imports.add(imported)
  nodeOf(graph, imported).importers.add(importer)
}

function clearImports(graph: ModuleGraph, path: string, node: ModuleNode): void {
  for (const imported of node.imports) graph.nodes.get(imported)?.importers.delete(path)
  node.imports.clear()
}

/** Notes the state of a file that is about to load; one that changed behind the watcher's back gets a version. */
function checkStamp(graph: ModuleGraph, path: string, node: ModuleNode): void {
  if (node.stamp === '') takeStamp(path, node)
  else if (node.stamp !== stampOf(path).text) refresh(graph, new Set([path]))
}

function takeStamp(path: string, node: ModuleNode): void {
  const { text, racy } = stampOf(path)
  node.stamp = text
  node.racy = racy
}

/** File times advance in steps of up to ten milliseconds; this is twice that. */
const RACY_MS = 20

/** What distinguishes two states of a file: time, size and inode. Synchronous, as the hook is. */
function stampOf(path: string): { text: string; racy: boolean } {
  try {
    const { mtime, size, ino } = Deno.statSync(path)
    const written = mtime?.getTime() ?? 0
    return { text: `${written} ${size} ${ino}`, racy: Date.now() - written < RACY_MS }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return { text: 'missing', racy: false }
    }
    throw error
  }
}

/** The versions, as the loader asks for them. */
export function versionsOf(graph: ModuleGraph): ModuleVersions {
  return {
    versionOf: (path) => nodeOf(graph, path).version,
    noteRead: (path) => checkStamp(graph, path, nodeOf(graph, path)),
  }
}

/**
 * Gives a new version to each module whose file is not what it was when it was loaded, and to all that import it.
 * Looks at the modules at or below `paths`, at all of them if it is null. Returns how many files changed.
 */
export function refresh(graph: ModuleGraph, paths: ReadonlySet<string> | null): number {
  const changed = new Set<string>()
  for (const [path, node] of graph.nodes) {
    if (paths !== null && !isAtOrBelowAny(path, paths)) continue
    if (node.stamp === '') continue
    const written = paths !== null && node.racy && paths.has(path)
    if (written || node.stamp !== stampOf(path).text) changed.add(path)
  }
  if (changed.size === 0) return 0
  const version = ++graph.lastVersion
  // A Set visits what is added to it on the way.
  const affected = new Set(changed)
  for (const path of affected) {
    const node = graph.nodes.get(path)!
    node.version = version
    takeStamp(path, node)
    for (const importer of node.importers) affected.add(importer)
  }
  return changed.size
}

function isAtOrBelowAny(path: string, folders: ReadonlySet<string>): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
    if (folders.has(path.slice(0, end))) return true
  }
  return false
}

/**
 * All project modules that `entries` reach, themselves included.
 *
 * Modules that were loaded before the hook was there, and isolated routes, which are never imported, show their
 * imports by their text only: it is parsed once a version. One that does not parse keeps the imports that it had.
 */
export async function reach(graph: ModuleGraph, entries: Iterable<string>): Promise<Set<string>> {
  const reached = new Set(entries)
  for (const path of reached) {
    const node = nodeOf(graph, path)
    if (node.scannedVersion !== node.version) {
      node.scannedVersion = node.version
      if (SOURCE.test(path)) await scan(graph, path, node)
    }
    for (const imported of node.imports) reached.add(imported)
  }
  return reached
}

async function scan(graph: ModuleGraph, path: string, node: ModuleNode): Promise<void> {
  let specifiers: readonly string[]
  try {
    specifiers = await readImports(path, await Deno.readTextFile(path))
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof ModuleSyntaxError) return
    throw error
  }
  if (node.importsVersion < node.version) {
    clearImports(graph, path, node)
    node.importsVersion = node.version
  }
  const base = toFileUrl(path)
  for (const specifier of specifiers) {
    const url = resolveText(specifier, base)
    const target = url === null ? null : parseUrl(graph, url)
    if (target === null) continue
    link(graph, path, target.path)
    checkStamp(graph, target.path, nodeOf(graph, target.path))
  }
}

/** What a module imports, and the files that an isolated route names for its warm-up and as its program, which are read as imports are. */
async function readImports(path: string, source: string): Promise<string[]> {
  if (!/\b(?:import|from|warmup|program)\b/.test(source)) return []
  const { program, code } = await parseModule(path, source, { everyImport: true })
  const { names, constants } = listExports(program)
  const isolated = constants.get(names.get('isolated') ?? '')
  const options = Object(isolated === undefined ? undefined : tryLiteral(isolated, code))
  const files = [options.warmup, options.program].filter((path) => typeof path === 'string')
  return [...listImports(program), ...files]
}

/** A specifier as a URL; bare ones by the import map of the process. */
function resolveText(specifier: string, base: URL): string | null {
  try {
    if (/^(?:\.{0,2}\/|file:)/.test(specifier)) return new URL(specifier, base).href
    return import.meta.resolve(specifier)
  } catch {
    return null // names what the import map does not have
  }
}
