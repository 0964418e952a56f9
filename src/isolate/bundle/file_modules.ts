/** How files become modules of a bundle: each is looked at before the bundler reads it, however its path was found. */
import { dirname, extname } from '@std/path'
import type { LoadResult, PluginBuild } from '../compile/compiler.ts'
import { type CompilerOptions, toCompilation } from '../compile/compiler_options.ts'
import { type Containment, refusalOf, withoutForeignMaps } from '../resolve/containment.ts'
import { addOnModule, isAddOn } from '../resolve/missing_module.ts'
import { requiredModule, withScope } from './module_scope.ts'
import type { IsolateRuntime } from '../plan/options.ts'
import { toGuestPath } from '../resolve/guest_path.ts'
import type { UntakenCode } from './untaken_code.ts'
import { wasmModule } from './wasm_module.ts'

/** Namespace of the modules that note what a file of the same path may require. */
export const REQUIRED_NAMESPACE = 'required'

/** How esbuild reads files of program text, by extension. */
const SOURCE_LOADERS: Readonly<Record<string, string>> = {
  '.js': 'js',
  '.cjs': 'js',
  '.mjs': 'js',
  '.jsx': 'jsx',
  '.ts': 'ts',
  '.cts': 'ts',
  '.mts': 'ts',
  '.tsx': 'tsx',
  '.css': 'css',
}

/** What a module says that reads files by itself. */
const READS = /\breadFile/
const DECORATOR = /^\s*@[\w$(]/m

/** What the files of a program have in common. */
export interface FileModules {
  readonly runtime: IsolateRuntime
  readonly containment: Containment
  readonly options: CompilerOptions
  /** Gets the real paths of modules that ask where they lie, and whether they read files. */
  readonly located: Map<string, boolean>
  readonly untaken: UntakenCode
}

/** Sets how files are loaded. */
export function loadFiles(build: PluginBuild, files: FileModules): void {
  const { containment } = files
  build.onLoad({ filter: /.*/, namespace: 'file' }, async ({ path, with: attributes }) => {
    try {
      const refusal = refusalOf(containment, path)
      if (refusal !== null) throw new Error(refusal)
      return attributes.type === undefined ? await loadFile(files, path) : undefined
    } catch (error) {
      // Also a file that its package leaves out for browsers: esbuild takes an empty module.
      if (error instanceof Deno.errors.NotFound) return undefined
      return { errors: [{ text: `import of ${path}: ${(error as Error).message.split('\n')[0]}` }] }
    }
  })
  build.onLoad({ filter: /.*/, namespace: REQUIRED_NAMESPACE }, async ({ path }) => ({
    contents: await requiredModule(
      path,
      await Deno.readTextFile(path),
      await toGuestPath(path, containment.project),
    ),
    loader: 'js',
    resolveDir: dirname(path),
  }))
}

/** The module in a file; undefined for one that esbuild may read as it is. */
async function loadFile(
  { runtime, containment, options, located, untaken }: FileModules,
  path: string,
): Promise<LoadResult | undefined> {
  const resolveDir = dirname(path)
  if (isAddOn(path)) return { contents: addOnModule(path), loader: 'js' }
  if (extname(path) === '.wasm') {
    if (runtime === 'core') {
      throw new Error("the runtime 'core' has no WebAssembly, want isolated = { runtime: 'deno' }")
    }
    return { contents: await wasmModule(path), loader: 'js', resolveDir }
  }
  const loader = SOURCE_LOADERS[extname(path)]
  if (loader === undefined) return undefined
  const replacement = untaken.replacementOf(path)
  if (replacement !== null) return { contents: replacement, loader: 'js' }
  const read = await Deno.readTextFile(path)
  if (options.emitDecoratorMetadata && loader.startsWith('ts') && DECORATOR.test(read)) {
    throw new Error(
      'its decorators may want types at run time (compilerOptions.emitDecoratorMetadata), which programs of isolated handlers do not have',
    )
  }
  const text = withOwnJsx(withoutForeignMaps(containment, path, read), loader)
  const scoped = loader === 'css' ? null : await withScope({ path, text, loader }, {
    guestPath: (path) => toGuestPath(path, containment.project),
    compile: toCompilation(options),
  })
  if (scoped !== null) located.set(Deno.realPathSync(path), READS.test(read))
  const contents = untaken.withoutCalls(path, scoped ?? text)
  return contents === read ? undefined : { contents, loader: scoped === null ? loader : 'js', resolveDir }
}

/** A file that names its own function for JSX means the old way of it, as Deno takes it; esbuild wants that said. */
function withOwnJsx(text: string, loader: string): string {
  if (!loader.endsWith('x') || !/@jsx(?:Frag)?\s/.test(text)) return text
  return /@jsx(?:Runtime|ImportSource)\s/.test(text) ? text : `/** @jsxRuntime classic */${text}`
}
