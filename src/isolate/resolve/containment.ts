/**
 * What a bundle may contain: the files of the project, and those of the packages that imports by name led to. Paths count by where their
 * symbolic links lead.
 */
import { dirname, join, resolve } from '@std/path'
import { npmCache } from './deno_resolve.ts'
import { isFile } from './files.ts'
import { findProject } from './project.ts'

/** The folders whose files one bundle may contain. */
export interface Containment {
  /** Real path. */
  readonly project: string
  /** Real paths of packages in Deno's cache. */
  readonly packages: Set<string>
}

/** The project of the routes in `folder`, and no package yet. */
export async function containIn(folder: string): Promise<Containment> {
  return { project: await findProject(folder), packages: new Set() }
}

/** Adds the package of a file that an import by name led to, where that is one of Deno's cache. */
export async function admitPackage({ packages }: Containment, path: string): Promise<void> {
  const cache = await npmCache()
  const folder = cache === null ? null : findPackage(Deno.realPathSync(path), cache)
  if (folder !== null) packages.add(folder)
}

/** The outermost folder with a `package.json` on the way from the cache to the file. */
function findPackage(path: string, cache: string): string | null {
  let found: string | null = null
  for (let folder = dirname(path); isBelow(folder, cache); folder = dirname(folder)) {
    if (isFile(join(folder, 'package.json'))) found = folder
  }
  return found
}

/** Why the file may not be in the bundle, or null when it may. Throws where it is not there. */
export function refusalOf(containment: Containment, path: string): string | null {
  const real = Deno.realPathSync(path)
  if (!isContained(containment, real)) {
    const where = real === path ? 'it lies' : `it leads to ${real}, which lies`
    return `${where} outside of the project ${containment.project}, want a file of the project or a package`
  }
  return isFile(real) ? null : 'it is no file, want one'
}

const SOURCE_MAP = /(?<=\/[/*][#@]\s*)sourceMappingURL=(\S*)/g

/**
 * The text of a module without its comments that name a source map which may not be read. Its length is the same: esbuild reads the
 * maps that it finds.
 */
export function withoutForeignMaps(containment: Containment, path: string, text: string): string {
  const foreign = new Set<number>()
  for (const { 1: url, index } of text.matchAll(SOURCE_MAP)) {
    if (!isOwnMap(containment, dirname(path), url!)) foreign.add(index)
  }
  if (foreign.size === 0) return text
  return text.replace(
    SOURCE_MAP,
    (found, _, index) => foreign.has(index) ? found.replace('=', ' ') : found,
  )
}

function isOwnMap(containment: Containment, folder: string, url: string): boolean {
  if (url.startsWith('data:')) return true
  // As esbuild may decode these, their path is not the one that is seen here.
  if (/[%\\]|^\w+:/.test(url)) return false
  const path = resolve(folder, `./${url}`)
  if (!isContained(containment, path)) return false
  return !isFile(path) || refusalOf(containment, path) === null
}

function isContained({ project, packages }: Containment, real: string): boolean {
  return isBelow(real, project) || [...packages].some((folder) => isBelow(real, folder))
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`)
}
