/** The resolver of the bundler: what a module of the guest may import, and where it lies. */
import { dirname, join, toFileUrl } from '@std/path'
import type { PluginBuild, ResolveArguments, ResolveResult } from '../compile/compiler.ts'
import {
  cacheModule,
  installPackage,
  isPackageFile,
  loadRemote,
  type RemoteModule,
  type RemoteModules,
  resolveImport,
  resolveRequire,
  toBuiltin,
  toPath,
} from '../resolve/deno_resolve.ts'
import { admitPackage, type Containment } from '../resolve/containment.ts'
import { type FileModules, loadFiles, REQUIRED_NAMESPACE } from './file_modules.ts'
import { GIVEN_NAMESPACE } from './given_modules.ts'
import {
  EMPTY_NAMESPACE,
  isGlobalPath,
  MissingBuiltinError,
  requireSubstitute,
  resolveNamed,
  SUBSTITUTE_NAMESPACE,
  URL_NAMESPACE,
} from '../core/core_resolver.ts'
import { isFile } from '../resolve/files.ts'
import { MISSING_NAMESPACE, missingModule } from '../resolve/missing_module.ts'
import { crossesKinds, INTEROP_NAMESPACE, interopModule, isCommonJs } from '../resolve/module_kind.ts'
import { REQUIRED_MODULE, SCOPE_MODULE } from './module_scope.ts'
import type { IsolateRuntime } from '../plan/options.ts'

/** Namespace of the entry that {@link resolverPlugin} is given. */
export const ENTRY_NAMESPACE = 'mayfly'
const REMOTE_NAMESPACE = 'remote'
const PATH = /^(?:\.{0,2}\/|\.{1,2}$|file:)/
const BUILTIN_NAMESPACE = 'builtin'

/** Module of the guest's functions that {@link SCOPE_MODULE} names. */
const SCOPE_NAMESPACE = 'scope'
/** `node:module` with a `createRequire` that knows the bundle. */
const NODE_MODULE_NAMESPACE = 'node-module'

/** The guest's file as a module of the bundle. */
const GUEST_NAMESPACE = 'guest'
const FACADE_NAMESPACE = 'facade'
/** What `guest/facade.ts` exports, types left out; a test compares them. */
export const FACADE_NAMES: readonly string[] = ['HttpError']
/** Mayfly's own entry is another one inside a guest: what the guest's own file gives of it. */
const OWN_ENTRY = new URL('../../../mod.ts', import.meta.url).href
/**
 * A plugin that resolves as Deno does; `entry` is the text of the entry module, and `runtime` how the guest's file is imported, which
 * stays a file of its own unless `guest` is its text. `kind` is what runs it. `files` says how files are taken in; null is for Mayfly's own modules, which esbuild reads.
 * `reasons` gets why a specifier was left to esbuild, which knows whether a `try` catches it.
 */
export function resolverPlugin(
  entry: string,
  runtime: string,
  kind: IsolateRuntime,
  files: FileModules | null,
  reasons: Map<string, string>,
  guest: string | null = null,
): { name: string; setup(build: PluginBuild): void } {
  const containment = files === null ? null : files.containment
  const remote: RemoteModules = { modules: new Map(), redirects: new Map() }
  return {
    name: 'mayfly',
    setup(build) {
      build.onResolve({ filter: /.*/ }, async (args) => {
        try {
          if (args.path === runtime && isOwn(args)) {
            return guest === null
              ? { path: runtime, external: true }
              : { path: runtime, namespace: GUEST_NAMESPACE }
          }
          if (args.pluginData === AS_ESBUILD) return undefined
          const result = await resolveArguments({ kind, remote, containment }, args) ??
            await resolveOptional(build, args)
          return await betweenKinds(args, result)
        } catch (error) {
          const reason = reasonOf(error)
          if (error instanceof MissingBuiltinError && isGuardable(args)) {
            reasons.set(args.path, reason)
            return undefined
          }
          const isBuiltin = toBuiltin(args.path) !== null
          if (!isBuiltin && await isOptional(args)) {
            return { path: args.path, namespace: MISSING_NAMESPACE, pluginData: { kind: args.kind, reason } }
          }
          return { errors: [{ text: `import '${args.path}': ${reason}` }] }
        }
      })
      build.onLoad({ filter: /.*/, namespace: MISSING_NAMESPACE }, ({ path, pluginData }) => {
        const { kind, reason } = pluginData as { kind: string; reason: string }
        return { contents: missingModule(path, kind, reason), loader: 'js' }
      })
      if (files !== null) loadFiles(build, files)
      build.onLoad({ filter: /.*/, namespace: ENTRY_NAMESPACE }, () => ({ contents: entry, loader: 'js' }))
      build.onLoad({ filter: /.*/, namespace: GUEST_NAMESPACE }, () => ({
        contents: guest!,
        loader: 'js',
      }))
      build.onLoad({ filter: /.*/, namespace: FACADE_NAMESPACE }, () => ({
        contents: `export { ${FACADE_NAMES.join(', ')} } from ${JSON.stringify(runtime)}`,
        loader: 'js',
      }))
      build.onLoad({ filter: /.*/, namespace: INTEROP_NAMESPACE }, ({ path }) => ({
        contents: interopModule(path),
        loader: 'js',
        resolveDir: '/',
      }))
      build.onLoad({ filter: /.*/, namespace: SCOPE_NAMESPACE }, () => ({
        contents: `export { createResolve, describeModule, rememberModules } from ${JSON.stringify(runtime)}`,
        loader: 'js',
      }))
      build.onLoad({ filter: /.*/, namespace: NODE_MODULE_NAMESPACE }, () => ({
        contents: `export * from 'node:module'
export { default } from 'node:module'
export { createRequire } from ${JSON.stringify(runtime)}`,
        loader: 'js',
      }))
      build.onLoad({ filter: /.*/, namespace: REMOTE_NAMESPACE }, ({ path }) => {
        const { contents, loader } = remote.modules.get(path)!
        return { contents, loader }
      })
      build.onLoad({ filter: /.*/, namespace: SUBSTITUTE_NAMESPACE }, ({ path }) => ({
        contents: requireSubstitute(path),
        loader: 'js',
        resolveDir: dirname(path),
      }))
      build.onLoad({ filter: /.*/, namespace: EMPTY_NAMESPACE }, () => ({
        contents: 'module.exports = {}',
        loader: 'js',
      }))
      build.onLoad({ filter: /.*/, namespace: BUILTIN_NAMESPACE }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
        loader: 'js',
      }))
    },
  }
}

/** What stands between the module that asks and the file that was found, where these are of two kinds. */
async function betweenKinds(
  { kind, namespace, importer }: ResolveArguments,
  result: ResolveResult | undefined,
): Promise<ResolveResult | undefined> {
  if (result?.path === undefined || result.external === true || (result.namespace ?? 'file') !== 'file') {
    return result
  }
  if (kind !== 'import-statement' && kind !== 'dynamic-import') return result
  if (!['file', REMOTE_NAMESPACE, GIVEN_NAMESPACE].includes(namespace)) return result
  const crosses = await crossesKinds(namespace === 'file' ? importer : '/remote.mjs', result.path)
  return crosses ? { path: result.path, namespace: INTEROP_NAMESPACE } : result
}

/** Passed on to esbuild's own resolver. */
const AS_ESBUILD = {}

/** Whether a program may lack the module: packages also ask for modules that they can do without. */
async function isOptional({ kind, importer }: ResolveArguments): Promise<boolean> {
  return kind === 'require-call' || (kind === 'dynamic-import' && await isPackageFile(importer))
}

/** Whether a `try` or `catch` around it may be meant for it. */
function isGuardable({ kind }: ResolveArguments): boolean {
  return kind === 'require-call' || kind === 'dynamic-import'
}

/** What esbuild finds for a path that may be missing; undefined for one that may not: esbuild says so itself. */
async function resolveOptional(
  build: PluginBuild,
  args: ResolveArguments,
): Promise<ResolveResult | undefined> {
  if (!await isOptional(args)) return undefined
  const { path: specifier, importer, namespace, kind, resolveDir } = args
  const options = { importer, namespace, kind, resolveDir, pluginData: AS_ESBUILD }
  const { errors, ...result } = await build.resolve(specifier, options)
  if (errors.length > 0) throw new Error(`there is no such file beside ${importer.split('/').at(-1)}`)
  return { path: result.path, namespace: result.namespace, external: result.external }
}

function isOwn({ namespace }: ResolveArguments): boolean {
  return [ENTRY_NAMESPACE, FACADE_NAMESPACE, SCOPE_NAMESPACE, NODE_MODULE_NAMESPACE].includes(namespace)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.split('\n')[0]! : String(error)
}

/** The file that an import statement of an ES module names; undefined for what only bundlers find. */
async function exactFile(
  { path: specifier, importer, kind }: ResolveArguments,
): Promise<ResolveResult | undefined> {
  if (kind !== 'import-statement' || await isCommonJs(importer)) return undefined
  const path = toPath(new URL(specifier, toFileUrl(importer)).href)
  return isFile(path) ? { path } : undefined
}

/** Files that esbuild takes before that of JavaScript for a path without an extension. */
const BEFORE_JS = ['.tsx', '.ts', '.jsx']

/**
 * The file that a `require` of a path names, as esbuild finds it where no folder is meant; undefined for all else. esbuild reads the
 * folders above anew each time that it is asked, and a cache of packages has thousands of names.
 */
function requiredFile(specifier: string, importer: string): string | undefined {
  if (!/^\.{1,2}\/.*[^/.]$/.test(specifier)) return undefined
  const path = join(dirname(importer), specifier)
  if (isFile(path)) return Deno.realPathSync(path)
  if (BEFORE_JS.some((ending) => isFile(path + ending)) || !isFile(`${path}.js`)) return undefined
  return Deno.realPathSync(`${path}.js`)
}

/** What one bundle knows on its way. */
interface Resolution {
  readonly kind: IsolateRuntime
  readonly remote: RemoteModules
  readonly containment: Containment | null
}

async function resolveArguments(
  resolution: Resolution,
  args: ResolveArguments,
): Promise<ResolveResult | undefined> {
  const { path: specifier, importer, namespace, kind } = args
  if (kind === 'entry-point' && isGlobalPath(specifier)) return { path: specifier }
  if (kind === 'entry-point') return { path: specifier, namespace: ENTRY_NAMESPACE }
  if ([ENTRY_NAMESPACE, INTEROP_NAMESPACE, SUBSTITUTE_NAMESPACE].includes(namespace)) {
    return { path: specifier }
  }
  if (specifier === SCOPE_MODULE) return { path: specifier, namespace: SCOPE_NAMESPACE }
  if (specifier === REQUIRED_MODULE) return { path: importer, namespace: REQUIRED_NAMESPACE }
  if (kind === 'require-resolve') return { path: specifier, external: true }
  if (resolution.kind === 'core' && resolution.containment !== null) {
    if (isName(specifier)) return await resolveForCore(resolution, args)
    // esbuild would not say that a package has nothing there for browsers.
    if (kind === 'require-call' && await isPackageFile(importer)) {
      return await resolveForCore(resolution, args)
    }
  }
  const builtin = toBuiltin(specifier)
  if (builtin !== null) {
    const isOwnModule = builtin === 'node:module' && namespace !== NODE_MODULE_NAMESPACE
    if (isOwnModule && kind !== 'require-call') return { path: builtin, namespace: NODE_MODULE_NAMESPACE }
    // A package's require gives the module itself, which no import statement can.
    return kind === 'require-call'
      ? { path: builtin, namespace: BUILTIN_NAMESPACE }
      : { path: builtin, external: true }
  }
  if (specifier.startsWith('data:')) return undefined
  if (namespace === REMOTE_NAMESPACE) {
    const module = resolution.remote.modules.get(importer)!
    const url = module.imports.get(specifier) ?? new URL(specifier, module.url).href
    if (url.startsWith('file:')) throw new Error('a module from the network cannot import a file')
    return await toResult(resolution, url)
  }
  const isPath = PATH.test(specifier)
  // As Node has it: extensions may be left out, and folders named.
  if (isPath && kind === 'require-call') {
    const path = resolution.kind === 'deno' ? requiredFile(specifier, importer) : undefined
    return path === undefined ? undefined : { path }
  }
  if (await isPackageFile(importer)) {
    // Packages may leave out extensions, name folders, and have other files for browsers: esbuild knows how.
    if (isPath) return resolution.kind === 'deno' ? await exactFile(args) : undefined
    if (kind === 'require-call') {
      return await toResult(resolution, toFileUrl(resolveRequire(specifier, importer)).href)
    }
  }
  const parentUrl = toFileUrl(importer).href
  const url = isPath ? new URL(specifier, parentUrl).href : await findModule(specifier, parentUrl)
  return await toResult(resolution, url, isPath)
}

/** Not a path, and no URL but one of npm. */
function isName(specifier: string): boolean {
  return !PATH.test(specifier) && !/^(?:https?|jsr|data):/.test(specifier)
}

/** What an import by name means in core. */
async function resolveForCore(resolution: Resolution, args: ResolveArguments): Promise<ResolveResult> {
  const { path: specifier, importer, namespace, kind } = args
  const imports = namespace === REMOTE_NAMESPACE ? resolution.remote.modules.get(importer)!.imports : null
  const result = await resolveNamed({
    specifier,
    importer,
    kind: kind === 'require-call' ? 'require' : 'import',
    inPackage: imports === null && await isPackageFile(importer),
  }, {
    find: async (name) =>
      imports === null ? await findModule(name, toFileUrl(importer).href) : imports.get(name) ?? name,
    install: (path) => admitted(resolution, path),
  })
  return result.namespace === URL_NAMESPACE ? await toResult(resolution, result.path) : result
}

/** The module of a URL; `isPath` when it was named by its path. */
async function toResult(resolution: Resolution, url: string, isPath = false): Promise<ResolveResult> {
  const builtin = toBuiltin(url)
  if (builtin !== null) return { path: builtin, external: true }
  if (url === OWN_ENTRY) return { path: 'mayfly', namespace: FACADE_NAMESPACE }
  if (url.startsWith('file:')) {
    const path = toPath(url)
    return { path: isPath ? await existing(path) : await admitted(resolution, path) }
  }
  if (/^(?:https?|jsr):/.test(url)) return { ...toRemote(await loadRemote(resolution.remote, url)) }
  if (url.startsWith('npm:')) {
    // From a remote module: the package is known by its range only.
    const known = await findModule(url, import.meta.url)
    if (known.startsWith('file:')) return { path: await admitted(resolution, toPath(known)) }
  }
  throw new Error(
    `${url} is nothing that a guest can hold, want a file, an npm or jsr package, or an http(s) URL`,
  )
}

/** The URL of a module that is named. A package that the lock file lacks is looked for as Deno does it for an import. */
async function findModule(specifier: string, parentUrl: string): Promise<string> {
  const url = await resolveImport(specifier, parentUrl)
  if (url.startsWith('file:') ? isFile(toPath(url)) : !url.startsWith('npm:')) return url
  try {
    await installPackage(specifier)
  } catch (error) {
    // A file of a package whose folder is known may yet be downloaded.
    if (url.startsWith('file:') && await isPackageFile(toPath(url))) return url
    throw new Error(
      /not a dependency/.test(reasonOf(error))
        ? `no import map and no package.json names it, want 'deno add npm:${specifier}', or its path with './' in front`
        : `Deno does not find the package (${reasonOf(error)}), want 'deno install' and another start`,
    )
  }
  return await resolveImport(specifier, parentUrl)
}

function toRemote({ url }: RemoteModule): ResolveResult {
  return { path: url, namespace: REMOTE_NAMESPACE }
}

/** The path of a file that an import by name led to. */
async function admitted({ containment }: Resolution, path: string): Promise<string> {
  await existing(path)
  if (containment !== null) await admitPackage(containment, path)
  return path
}

/** The path, when a file is there. A package that the lock file names may yet have to be downloaded. */
async function existing(path: string): Promise<string> {
  if (isFile(path)) return path
  if (await isPackageFile(path)) {
    const [, name, version] = /\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/([^/]+)\//.exec(path) ?? []
    if (name !== undefined) await cacheModule(`npm:${name}@${version}`)
    if (isFile(path)) return path
  }
  throw new Error(`there is no file ${path}`)
}
