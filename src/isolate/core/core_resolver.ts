/** Imports by name in the runtime `core`: packages as browsers have them, and substitutes for modules of Node. */
import { dirname, fromFileUrl, join, relative, toFileUrl } from '@std/path'
import { missingReason, NODE_GLOBALS, substituteOf } from './node_in_core.ts'
import {
  type ImportKind,
  type PackageFile,
  packageName,
  resolvePackageFile,
} from '../resolve/package_resolver.ts'
import { resolveImport, resolveRequire, toBuiltin, toPath } from '../resolve/deno_resolve.ts'
import { isFile } from '../resolve/files.ts'

/** How names become files. */
export interface Ways {
  /** The URL that a name stands for in the importer, by Deno's own rules. */
  readonly find: (specifier: string) => Promise<string>
  /** Makes sure that the file of a path that Deno's resolver gave is there, and may be in the bundle; gives the path. */
  readonly install: (path: string) => Promise<string>
}

/** An import of a module of Node that has no substitute. */
export class MissingBuiltinError extends Error {
  override readonly name = 'MissingBuiltinError'

  constructor(builtin: string) {
    super(missingReason(builtin))
  }
}

/** Own modules of Mayfly that name others as `node_in_core.ts` does. */
const OWN = new URL('./node_in_core.ts', import.meta.url)
/** Ends the path of what {@link requireSubstitute} makes, as esbuild reads an `.mjs` in another way. */
const REQUIRED = '.cjs'
/** Namespace of {@link requireSubstitute}. */
export const SUBSTITUTE_NAMESPACE = 'substitute'
/** Namespace of modules that a package says browsers have not. */
export const EMPTY_NAMESPACE = 'empty'
/** Namespace of what is as Deno has it, by its URL. */
export const URL_NAMESPACE = 'url'
/** The folder of Mayfly's own substitutes. */
export const SUBSTITUTE_FOLDER = fromFileUrl(new URL('../guest/node', OWN))

/** Whether it is a {@link globalPath}. */
export function isGlobalPath(path: string): boolean {
  return Object.keys(NODE_GLOBALS).some((name) => globalPath(name) === path)
}

/** Path of the module whose export is a global of Node. */
export function globalPath(name: string): string {
  return fromFileUrl(new URL(NODE_GLOBALS[name]!, OWN))
}
/** An import by name. */
export interface NamedImport {
  readonly specifier: string
  readonly importer: string
  readonly kind: ImportKind
  /** The importer is a module of a package. */
  readonly inPackage: boolean
}

/** What esbuild gets for one. */
export interface NamedModule {
  readonly path: string
  readonly namespace?: string
}

/** What an import by name means. Rejects with `MissingBuiltinError`, or with an `Error` that says what is not there. */
export async function resolveNamed(
  { specifier, importer, kind, inPackage }: NamedImport,
  { find, install }: Ways,
): Promise<NamedModule> {
  let file: PackageFile
  if (inPackage) file = await resolveInPackage(specifier, importer, kind, install)
  else if (isBuiltin(specifier)) file = { builtin: specifier }
  else {
    // Mayfly's own import map is not the project's.
    const isOwn = dirname(importer) === SUBSTITUTE_FOLDER
    const url = isOwn ? import.meta.resolve(specifier) : await find(specifier)
    const found = url.startsWith('file:')
      ? await resolveFromProject(specifier, toPath(url), kind, install)
      : null
    if (found === null) return { path: url, namespace: URL_NAMESPACE }
    file = found
  }
  if (file === false) return { path: specifier, namespace: EMPTY_NAMESPACE }
  return 'path' in file ? { path: file.path } : await resolveBuiltin(file.builtin, kind, install)
}

/** A module of Node: its substitute. Rejects where it has none. */
async function resolveBuiltin(
  builtin: string,
  kind: ImportKind,
  install: Ways['install'],
): Promise<NamedModule> {
  const name = toBuiltin(builtin)!
  const substitute = substituteOf(name)
  if (substitute === null) throw new MissingBuiltinError(name)
  const path = await resolveSubstitute(substitute, install)
  return kind === 'require' ? { path: path + REQUIRED, namespace: SUBSTITUTE_NAMESPACE } : { path }
}

async function resolveSubstitute(specifier: string, install: Ways['install']): Promise<string> {
  if (specifier.startsWith('.')) return fromFileUrl(new URL(specifier, OWN))
  const found = toPath(import.meta.resolve(specifier))
  const file = await resolveFromProject(specifier, found, 'import', install)
  if (file === null || file === false || !('path' in file)) throw new Error(`${specifier} is no file`)
  return file.path
}

/** What `require` of a substitute gives: Node's modules are objects or functions, not namespaces. */
export function requireSubstitute(path: string): string {
  const required = JSON.stringify(path.slice(0, -REQUIRED.length))
  return `const module_ = require(${required})\nmodule.exports = module_.default ?? module_`
}

/** The file of an import by name in a module of a package. */
async function resolveInPackage(
  specifier: string,
  importer: string,
  kind: ImportKind,
  install: Ways['install'],
): Promise<PackageFile> {
  return await resolvePackageFile(dirname(importer), specifier, kind, {
    isBuiltin,
    findPackage: async (request) => {
      const folder = await findFolder(request, importer, install)
      if (folder === null) throw new Error(`there is no package ${packageName(request)}`)
      return folder
    },
  })
}

/**
 * The file that an import by name in a file of the project means, which Deno resolved to `found`: where that is a package's, the one that
 * its browser fields and conditions give, else null.
 */
async function resolveFromProject(
  specifier: string,
  found: string,
  kind: ImportKind,
  install: Ways['install'],
): Promise<PackageFile | null> {
  const folder = packageFolder(await install(found))
  if (folder === null) return null
  const subpath = await findSubpath(specifier, folder, found)
  if (subpath === null) return { path: found }
  return await resolvePackageFile(folder, `package${subpath}`, kind, {
    isBuiltin: (request) => request !== `package${subpath}` && isBuiltin(request),
    findPackage: async (request) => {
      if (request === `package${subpath}`) return folder
      const other = await findFolder(request, join(folder, 'package.json'), install)
      if (other === null) throw new Error(`there is no package ${packageName(request)}`)
      return other
    },
  })
}

function isBuiltin(specifier: string): boolean {
  return toBuiltin(specifier) !== null
}

/** The folder of a package for an importer in one: by any of its modules that Deno's resolver finds. */
async function findFolder(
  request: string,
  importer: string,
  install: Ways['install'],
): Promise<string | null> {
  const parent = toFileUrl(importer).href
  const name = packageName(request)
  const asked = isBuiltin(name) ? [`${name}/package.json`, `${name}/`] : [request, name]
  const ways = asked.flatMap((asked) => [
    async () => toPath(await resolveImport(asked, parent)),
    () => Promise.resolve(resolveRequire(asked, importer)),
  ])
  let first: unknown
  for (const way of ways) {
    try {
      const folder = packageFolder(await install(await way()))
      if (folder !== null) return folder
    } catch (error) {
      first ??= error
    }
  }
  if (first !== undefined) throw first
  return null
}

/** The outermost folder of the innermost package of a file: below `node_modules`, or a version in Deno's cache. */
function packageFolder(path: string): string | null {
  const installed = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]
  if (installed !== undefined) return installed
  const cached = /^(.*\/npm\/[^/]+\/)(.*)$/.exec(path)
  if (cached === null) return null
  let folder = cached[1]!.slice(0, -1)
  for (const part of cached[2]!.split('/')) {
    folder = join(folder, part)
    if (isFile(join(folder, 'package.json'))) return folder
  }
  return null
}

interface PackageJson {
  readonly name?: string
  readonly exports?: unknown
}

/** What follows the package's name: '' or '/sub'. Null when the file is none that the package exports by a name. */
async function findSubpath(specifier: string, folder: string, found: string): Promise<string | null> {
  const named = /^npm:\/?(?:@[^/]+\/)?[^/]+(\/.*)?$/.exec(specifier)
  if (named !== null) return named[1] ?? ''
  const { name, exports }: PackageJson = JSON.parse(await Deno.readTextFile(join(folder, 'package.json')))
  const own = packageName(specifier)
  if (own === name) return specifier.slice(own.length)
  // An alias of the import map: which export leads to the file.
  const file = `./${relative(folder, found)}`
  if (typeof exports !== 'object' || exports === null) return file.slice(1)
  for (const [key, value] of Object.entries(exports)) {
    if (key.startsWith('.') && !key.includes('*') && targetsOf(value).includes(file)) return key.slice(1)
  }
  return targetsOf(exports).includes(file) ? '' : null
}

/** All paths in the value of an export. */
function targetsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(targetsOf) : []
}
