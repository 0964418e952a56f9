/**
 * Gathers the framework for the emulated machine: `deno run -A native/hwtest/framework.ts FOLDER` puts into FOLDER
 *
 * - `mayfly/`: the sources, the test with what it imports, and the native library, built for this machine as users build it;
 * - `deno/`: the DENO_DIR with the npm packages that these import.
 *
 * The image has no network and no cargo: what is missing there fails.
 */
import { basename, dirname, fromFileUrl, join } from '@std/path'
import { buildLibrary, CRATES } from '../../src/isolate/ffi/build.ts'

const ROOT = fromFileUrl(new URL('../..', import.meta.url))
/** Relative to the root; `checks` runs it. */
const TEST = 'tests/isolated/loopback_test.ts'
const LISTED = ['mod.ts', 'deno.json', 'src', 'tests/isolated', 'native/Cargo.toml', 'native/Cargo.lock']

/** The part of `deno info --json` that is used here. */
interface ModuleGraph {
  readonly modules: readonly { readonly npmPackage?: string; readonly local?: string }[]
  readonly npmPackages: Readonly<Record<string, NpmPackage>>
}

interface NpmPackage {
  readonly dependencies: readonly string[]
  /** Where Deno keeps it, whether it was downloaded or, as for another system, was not. */
  readonly localPath: string
}

async function main(folder: string): Promise<void> {
  const sources = join(folder, 'mayfly')
  const paths = [
    ...LISTED,
    ...CRATES.flatMap((crate) => ['Cargo.toml', 'build.rs', 'src'].map((name) => `native/${crate}/${name}`)),
  ]
  await cachePackages()
  const graph = JSON.parse(await deno(['info', '--json', TEST])) as ModuleGraph
  for (const { local } of graph.modules) {
    if (local?.startsWith(ROOT)) paths.push(local.slice(ROOT.length))
  }
  for (const path of paths) await copy(join(ROOT, path), join(sources, path))
  const library = await buildLibrary()
  await copy(library, join(sources, 'native/target/release/mayfly', basename(library)))
  await copyPackages(graph, join(folder, 'deno'))
}

async function cachePackages(): Promise<void> {
  await deno(['cache', '--quiet', TEST])
  // Without the lock file, as there, Deno asks for the lists of versions too.
  await deno(['cache', '--quiet', '--no-lock', TEST])
}

/** Copies the packages that the graph's modules import, with all that these need. */
async function copyPackages(graph: ModuleGraph, target: string): Promise<void> {
  const { denoDir } = JSON.parse(await deno(['info', '--json'])) as { denoDir: string }
  const open = graph.modules.flatMap(({ npmPackage }) => npmPackage ?? [])
  const wanted = new Set<string>()
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (wanted.has(id)) continue
    wanted.add(id)
    open.push(...graph.npmPackages[id].dependencies)
  }
  for (const id of wanted) {
    const { localPath } = graph.npmPackages[id]
    for (const path of [localPath, join(dirname(localPath), 'registry.json')]) {
      await copy(path, join(target, path.slice(denoDir.length)))
    }
  }
}

async function deno(args: readonly string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    stderr: 'inherit',
  }).output()
  if (!success) throw new Error(`Cannot gather the framework: deno ${args.join(' ')} failed`)
  return new TextDecoder().decode(stdout)
}

/** Copies a file, or a folder with all in it, where it exists. */
async function copy(from: string, to: string): Promise<void> {
  let isDirectory: boolean
  try {
    isDirectory = (await Deno.stat(from)).isDirectory
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return
    throw error
  }
  if (isDirectory) {
    for await (const { name } of Deno.readDir(from)) await copy(join(from, name), join(to, name))
    return
  }
  await Deno.mkdir(dirname(to), { recursive: true })
  await Deno.copyFile(from, to)
}

if (import.meta.main) await main(Deno.args[0])
