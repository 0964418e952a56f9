import type { Readings } from '../../compiler/readings.ts'
import { reasonOf, RouteLoadError } from './load_error.ts'
import type { RouteNotice } from './notice.ts'
import type { RouteFunction, RouteModule } from './route_module.ts'

/** What earlier loads brought, by absolute path. */
export interface LoadCache {
  readonly routes: Map<string, CacheEntry<RouteModule>>
  readonly middleware: Map<string, CacheEntry<RouteFunction[]>>
  readonly errors: Map<string, CacheEntry<RouteFunction>>
  /** Reports on files that no rule takes. */
  readonly strays: Set<string>
}

/** The last try for a file, and the last one that worked. */
export interface CacheEntry<V> {
  readonly file: string
  readonly pattern: string
  readonly version: number
  /** The last good module, or null if there was none yet. */
  readonly value: V | null
  /** Why the last try failed, or null. */
  readonly error: RouteLoadError | null
}

/** Versions of files, which hot reload raises. */
export interface ModuleVersions {
  versionOf(path: string): number
  /** A file is about to be read at its present version. */
  noteRead(path: string): void
}

/** One pass over the routes folder. */
export interface LoadPass {
  readonly versions: ModuleVersions
  readonly onNotice: (notice: RouteNotice) => void
  /** Files of this pass; the cache drops the others. */
  readonly visited: Set<string>
  readonly readings: Readings
}

/** Makes the empty cache of a first load. */
export function createLoadCache(): LoadCache {
  return { routes: new Map(), middleware: new Map(), errors: new Map(), strays: new Set() }
}

/** An entry, and what was known before if this call tried the file (else undefined). */
export interface Tried<V> {
  readonly entry: CacheEntry<V>
  readonly tried: { readonly before: CacheEntry<V> | null } | undefined
}

/** The entry of a file; tries it with `loader` if it is new or its version changed, and reports a failure. */
export async function loadCached<V>(
  pass: LoadPass,
  entries: Map<string, CacheEntry<V>>,
  at: { readonly path: string; readonly file: string; readonly pattern: string },
  loader: (file: string, path: string) => Promise<V>,
): Promise<Tried<V>> {
  const { path, file, pattern } = at
  pass.visited.add(path)
  const version = pass.versions.versionOf(path)
  const before = entries.get(path) ?? null
  if (before !== null && before.version === version) return { entry: before, tried: undefined }
  pass.versions.noteRead(path)
  let entry: CacheEntry<V>
  try {
    entry = { file, pattern, version, value: await loader(file, path), error: null }
  } catch (cause) {
    const error = cause instanceof RouteLoadError
      ? cause
      : new RouteLoadError(file, reasonOf(cause), { cause })
    entry = { file, pattern, version, value: before?.value ?? null, error }
    pass.onNotice({ kind: before === null ? 'route:error' : 'reload:error', file, pattern, error })
  }
  entries.set(path, entry)
  return { entry, tried: { before } }
}

/** Drops the entries of files that this pass did not meet, and gives them. */
export function forgetOthers<V>(pass: LoadPass, entries: Map<string, CacheEntry<V>>): CacheEntry<V>[] {
  const gone = [...entries].filter(([path]) => !pass.visited.has(path))
  for (const [path] of gone) entries.delete(path)
  return gone.map(([, entry]) => entry)
}
