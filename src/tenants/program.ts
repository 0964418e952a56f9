/** The program of a tenant's folder: its files as modules, or, where it is trusted, a bundle of its own. */
import { join } from '@std/path'
import { bundleModule } from '../isolate/bundle/bundle.ts'
import type { IsolateRuntime } from '../isolate/plan/options.ts'
import type { ModuleSource, SandboxCode } from '../sandbox/code.ts'
import { type Listed, SETTINGS_FILE } from './listing.ts'
import type { ResolvedSettings } from './settings.ts'

/** The module that answers in place of a failed request, and the page that does. */
export const ERROR_MODULE = /^_error\.m?[jt]s$/
export const ERROR_PAGE = '_error.html'

const MAINS = ['main.ts', 'main.js', 'main.mts', 'main.mjs', 'main']
/** Also those that only a bundler reads. */
const BUNDLED_MAINS = [...MAINS, 'main.tsx', 'main.jsx']
const CODE = /\.m?[jt]s$|\.json$|\.txt$|\.html$|\.css$|\.md$/
const TEXT = /\.(?:dve|csv|svg|xml|yaml|yml|toml)$/
/** Files of one folder, and their bytes: as many as a program may have. */
const MAX_FILES = 1000
const MAX_BYTES = 64 << 20

/** Reads the program of a tenant. Rejects with an error that says what is wrong with which file. */
export async function readProgram(tenant: Listed, runtime: IsolateRuntime): Promise<SandboxCode> {
  const files = await listFiles(tenant.folder)
  const main = mainOf(tenant, files)
  // A name without an ending is that of a Linux program.
  if (!main.includes('.')) {
    const code = {
      mainModule: main,
      modules: await readModules(tenant.folder, files),
      native: join(tenant.folder, main),
    }
    return withSettings(code, tenant.settings)
  }
  const code = tenant.settings.npm
    ? await bundle(tenant, main, files, runtime)
    : { mainModule: main, modules: await readModules(tenant.folder, files) }
  return withSettings(code, tenant.settings)
}

/** The code with a tenant's settings; what the code itself says comes first. */
export function withSettings(code: SandboxCode, settings: ResolvedSettings): SandboxCode {
  const { outbound } = settings
  return {
    ...(outbound === undefined ? {} : { outbound }),
    ...code,
    env: { ...settings.env, ...code.env },
    limits: { ...settings.limits, ...code.limits },
  }
}

function mainOf({ main, folder, settings: { npm } }: Listed, files: ReadonlyMap<string, number>): string {
  const wanted = main === undefined ? (npm ? BUNDLED_MAINS : MAINS) : [main]
  const found = wanted.find((name) => files.has(name))
  if (found !== undefined) return found
  throw new TypeError(`Cannot load a program: there is no ${wanted.join(', ')} in ${folder}`)
}

/** Files of a folder and those below it, with their sizes. Links are refused: who writes there may not read elsewhere. */
async function listFiles(root: string): Promise<Map<string, number>> {
  const files = new Map<string, number>()
  let bytes = 0
  const walk = async (folder: string) => {
    for await (const { name, isDirectory, isSymlink } of Deno.readDir(join(root, folder))) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (name.startsWith('.') || name === 'node_modules' || path === SETTINGS_FILE) continue
      if (isSymlink) throw new TypeError(`Cannot load a program: ${path} is a link, want a file`)
      if (isDirectory) await walk(path)
      else {
        const { size, isFile } = await Deno.lstat(join(root, path))
        if (!isFile) throw new TypeError(`Cannot load a program: ${path} is no file, want one`)
        bytes += size
        files.set(path, size)
      }
      if (files.size > MAX_FILES || bytes > MAX_BYTES) {
        throw new RangeError(
          `Cannot load a program: ${files.size} files of ${bytes} bytes, want at most ${MAX_FILES} of ${MAX_BYTES}`,
        )
      }
    }
  }
  await walk('')
  return new Map([...files].sort(([a], [b]) => a < b ? -1 : 1))
}

type Modules = Record<string, string | ModuleSource>

async function readModules(root: string, files: ReadonlyMap<string, number>): Promise<Modules> {
  const modules: Modules = {}
  for (const path of files.keys()) {
    if (/\.[jt]sx$/.test(path)) {
      throw new TypeError(
        `Cannot load a program: ${path} has JSX, want npm: true, which bundles it, or plain modules`,
      )
    }
    modules[path] = await readModule(root, path)
  }
  return modules
}

async function readModule(root: string, path: string): Promise<string | ModuleSource> {
  const file = join(root, path)
  if (CODE.test(path)) return await Deno.readTextFile(file)
  if (TEXT.test(path)) return { text: await Deno.readTextFile(file) }
  const bytes = await Deno.readFile(file)
  return path.endsWith('.wasm') ? { wasm: bytes } : { data: bytes }
}

/** The main module and the one for errors as bundles, the page for errors as it is. */
async function bundle(
  { folder }: Listed,
  main: string,
  files: ReadonlyMap<string, number>,
  runtime: IsolateRuntime,
): Promise<SandboxCode> {
  const modules: Modules = {}
  const sourceMaps: Record<string, string> = {}
  const entries = [main, ...[...files.keys()].filter((path) => ERROR_MODULE.test(path))]
  for (const entry of entries) {
    const { code, map } = await bundleModule({ runtime, root: folder, file: join(folder, entry) })
    modules[toBundled(entry)] = new TextDecoder().decode(code)
    sourceMaps[toBundled(entry)] = map
  }
  if (files.has(ERROR_PAGE)) modules[ERROR_PAGE] = await readModule(folder, ERROR_PAGE)
  return { mainModule: toBundled(main), modules, sourceMaps }
}

function toBundled(name: string): string {
  return name.replace(/\.[mc]?[jt]sx?$/, '.js')
}
