/** Makes the bundles of `bundle.ts`, with esbuild. */
import type { Bundle } from './bundle_cache.ts'
import {
  type BundleInput,
  type GivenInput,
  type ModuleInput,
  RUNTIME_FILE,
  toGuestImport,
} from './bundle_input.ts'
import { type BuildResult, ProgramError, runBuild } from '../compile/compiler.ts'
import { containIn, type Containment, refusalOf } from '../resolve/containment.ts'
import { globalPath, SUBSTITUTE_FOLDER } from '../core/core_resolver.ts'
import { readCompilerOptions, toCompilation } from '../compile/compiler_options.ts'
import type { FileModules } from './file_modules.ts'
import { findMissing, MISSING_PROBES, type MissingUse } from '../core/missing_in_core.ts'
import { NODE_GLOBALS } from '../core/node_in_core.ts'
import type { IsolateRuntime } from '../plan/options.ts'
import { withOwnNames } from './own_names.ts'
import { ENTRY_NAMESPACE, resolverPlugin } from './resolver.ts'
import { findPackageFiles } from './package_files.ts'
import { nameSources } from './source_names.ts'
import { UntakenCode } from './untaken_code.ts'
import { givenFolder, givenPlugin } from './given_modules.ts'

const ENTRY = 'program'
/** Builds of one bundle: each may find code of packages that it does not take. */
const MOST_BUILDS = 8

/** How esbuild sees each runtime. */
const TARGETS = {
  deno: { platform: 'node', conditions: ['deno', 'import', 'module'], mainFields: ['module', 'main'] },
  core: {
    platform: 'browser',
    conditions: ['worker', 'browser', 'import', 'module'],
    mainFields: ['browser', 'module', 'main'],
  },
} as const

/** A package that asks for `process.env.NODE_ENV` has its answer when it is bundled, and its other half is left out. */
const CORE_DEFINES = { 'process.env.NODE_ENV': '"production"', global: 'globalThis' }

/** As `bundleOwn`. */
export function makeOwn(runtime: IsolateRuntime, entry: string): Promise<Bundle> {
  return build(runtime, entry, null, [])
}

/** As `bundleProgram`. */
export async function makeProgram(input: BundleInput): Promise<Bundle> {
  const containment = await containIn(input.root)
  if (input.runtime === 'core') containment.packages.add(await Deno.realPath(SUBSTITUTE_FOLDER))
  for (const file of input.files) {
    const refusal = refusalOf(containment, file)
    if (refusal !== null) throw new ProgramError(`route file: ${refusal}`, { file, line: 1, column: 1 })
  }
  const options = await readCompilerOptions(input.root, containment.project)
  const modules = {
    runtime: input.runtime,
    containment,
    options,
    located: new Map<string, boolean>(),
    untaken: new UntakenCode(),
  }
  const bundle = await build(input.runtime, toEntry(input), modules, input.files)
  if (input.runtime === 'core') return bundle
  const inputs = new Set(bundle.inputs)
  const located = [...modules.located].filter(([path]) => inputs.has(path))
  return { ...bundle, data: await findPackageFiles(located, containment.project) }
}

/** As `bundleModule`. */
export async function makeModule({ runtime, root, file }: ModuleInput): Promise<Bundle> {
  const containment = await containIn(root)
  const refusal = refusalOf(containment, file)
  if (refusal !== null) throw new ProgramError(`module: ${refusal}`, { file, line: 1, column: 1 })
  return await buildModule(runtime, root, containment, file, root)
}

/** As `bundleGiven`. */
export async function makeGiven({ runtime, root, main, modules }: GivenInput): Promise<Bundle> {
  const containment = await containIn(root)
  const folder = givenFolder(containment.project)
  return await buildModule(runtime, root, containment, `${folder}/${main}`, folder, [
    givenPlugin(folder, modules),
  ])
}

async function buildModule(
  runtime: IsolateRuntime,
  root: string,
  containment: Containment,
  file: string,
  own: string,
  plugins: readonly Plugin[] = [],
): Promise<Bundle> {
  if (runtime === 'core') containment.packages.add(await Deno.realPath(SUBSTITUTE_FOLDER))
  const options = await readCompilerOptions(root, containment.project)
  const name = JSON.stringify(file)
  const entry = `export * from ${name}
import * as module from ${name}
export default module.default
`
  // Bundled by itself: Mayfly's own may lie outside of the project.
  const guest = await makeOwn(runtime, `export * from ${toGuestImport('standalone.ts')}`)
  const text = new TextDecoder().decode(guest.code)
  const bundle = await build(
    runtime,
    entry,
    { runtime, containment, options, located: new Map(), untaken: new UntakenCode() },
    [file],
    {
      text,
      plugins,
    },
  )
  return { ...bundle, map: await nameSources(bundle.map, { own, project: containment.project }) }
}

/** A plugin of the bundler. */
type Plugin = ReturnType<typeof givenPlugin>

/** `files` as {@link resolverPlugin} takes it; `routes`: the route files; `guest`: the text of the guest's file, where the bundle holds it, and plugins that come first. */
async function build(
  runtime: IsolateRuntime,
  entry: string,
  files: FileModules | null,
  routes: readonly string[],
  guest: { readonly text: string; readonly plugins: readonly Plugin[] } | null = null,
): Promise<Bundle> {
  const reasons = new Map<string, string>()
  const once = (more: Readonly<Record<string, unknown>>) =>
    runBuild(
      'bundle isolated handlers',
      {
        entryPoints: [ENTRY],
        plugins: [
          ...(guest?.plugins ?? []),
          resolverPlugin(entry, `./${RUNTIME_FILE}`, runtime, files, reasons, guest?.text ?? null),
        ],
        bundle: true,
        write: false,
        metafile: true,
        // Fixed, so that names in the output do not depend on where the process runs.
        absWorkingDir: '/',
        outfile: `/${ENTRY}.js`,
        sourcemap: 'external',
        sourcesContent: false,
        ...TARGETS[runtime],
        ...(files === null ? {} : toCompilation(files.options)),
        ...more,
      },
      toShown,
      reasons,
    )
  const run = async (more: Readonly<Record<string, unknown>>) => {
    for (let builds = 1;; builds++) {
      try {
        return await once(more)
      } catch (error) {
        if (builds === MOST_BUILDS || !await files?.untaken.note(error)) throw error
      }
    }
  }
  return runtime === 'core' && files !== null ? await buildForCore(run, routes) : toBundle(await run({}), [])
}

/**
 * Builds with Node's globals that the program names, and no others: what esbuild injects stays in a bundle that has no use for it. A
 * first build finds them, and what names globals that are not there, as it alone can distinguish a global from a variable of that name.
 */
async function buildForCore(
  run: (more: Readonly<Record<string, unknown>>) => Promise<BuildResult>,
  routes: readonly string[],
): Promise<Bundle> {
  const probes = Object.keys(NODE_GLOBALS).map((name) => [name, `__mayfly_global_${name}`])
  const first = await run({ define: { ...CORE_DEFINES, ...MISSING_PROBES, ...Object.fromEntries(probes) } })
  const { code, map } = outputOf(first)
  const text = new TextDecoder().decode(code)
  const named = probes.filter(([, probe]) => text.includes(probe!)).map(([name]) => globalPath(name!))
  const missing = findMissing({ code: text, map, metafile: first.metafile }, routes)
  if (named.length === 0 && missing.length === 0) return toBundle(first, missing)
  return toBundle(await run({ define: CORE_DEFINES, inject: named }), missing)
}

function toBundle(result: BuildResult, missing: readonly MissingUse[]): Bundle {
  const { code, map } = outputOf(result)
  const named = withOwnNames(new TextDecoder().decode(code), map)
  return {
    code: new TextEncoder().encode(named),
    map,
    inputs: Object.keys(result.metafile.inputs).filter((name) => !/^<?\w[\w+.-]*:/.test(name)).map((name) =>
      `/${name}`
    ).sort(),
    missing,
  }
}

function outputOf({ outputFiles }: BuildResult): Pick<Bundle, 'code' | 'map'> {
  const [map, code] = outputFiles[0]!.path.endsWith('.map') ? outputFiles : outputFiles.toReversed()
  return { code: code!.contents, map: new TextDecoder().decode(map!.contents) }
}

/** Each module is loaded by itself: one that throws breaks its own routes only. */
function toEntry({ files, handlers, outputBytes, logBytes, reach }: BundleInput): string {
  const modules = files.map((path) => `() => import(${JSON.stringify(path)})`)
  const listed = handlers.map((handler) =>
    JSON.stringify({ name: handler.name, module: handler.file, export: handler.export })
  )
  // Deno may read the program's file, or could not load it; nothing of the user has run yet, and none of it may.
  return `import { serve } from './${RUNTIME_FILE}'
globalThis.Deno?.permissions?.revokeSync({ name: 'read', path: import.meta.filename })
serve({
  outputBytes: ${outputBytes},
  logBytes: ${logBytes},${
    reach === undefined ? '' : `
  reach: ${JSON.stringify(reach)},`
  }
  modules: [${modules.join(', ')}],
  handlers: [${listed.join(', ')}],
})
`
}

/** esbuild names files from its working folder, and others with their namespace in front. */
function toShown(path: string): string {
  if (path.startsWith(`${ENTRY_NAMESPACE}:`)) return 'the entry of the bundle'
  return path.startsWith('/') || path.includes(':') ? path : `/${path}`
}
