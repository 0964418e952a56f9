/**
 * Gathers the framework for the emulated machine: `deno run -A native/hwtest/framework.ts FOLDER` puts into FOLDER
 *
 * - `mayfly/`: the sources, the test with what it imports, and the native library and the small guest, built for this machine as
 *   users build them (without the guest where its tools are missing, which it says);
 * - `deno/`: the DENO_DIR with the npm packages that these import.
 *
 * The image has no network and no cargo: what is missing there fails.
 */
import { basename, dirname, fromFileUrl, join } from '@std/path'
import { buildLibrary, LIBRARY } from '../../src/isolate/ffi/build/build.ts'
import type { Artifact } from '../../src/isolate/ffi/build/cargo_build.ts'
import { buildCoreGuest, CORE_GUEST } from '../../src/isolate/ffi/build/core_build.ts'
import { IsolationUnavailableError } from '../../src/isolate/machines/errors.ts'

const ROOT = fromFileUrl(new URL('../..', import.meta.url))
/** Relative to the root; `checks` runs it. */
const TEST = 'tests/isolated/loopback_test.ts'
const LISTED = ['mod.ts', 'deno.json', 'src', 'tests/isolated', 'native/guest-core/web']

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
  const paths = [...LISTED]
  await cachePackages()
  const graph = JSON.parse(await deno(['info', '--json', TEST])) as ModuleGraph
  for (const { local } of graph.modules) {
    if (local?.startsWith(ROOT)) paths.push(local.slice(ROOT.length))
  }
  for (const path of paths) await copy(join(ROOT, path), join(sources, path))
  await copyBuilt(LIBRARY, await buildLibrary(), sources)
  const guest = await buildCoreGuest().catch(skipGuest)
  if (guest !== undefined) await copyBuilt(CORE_GUEST, guest, sources)
  await copyPackages(graph, join(folder, 'deno'))
}

/** Copies what was built, to where it is looked for there, and its sources, by whose hash it is found. */
async function copyBuilt({ sources, workspace }: Artifact, built: string, target: string): Promise<void> {
  for (const source of sources) {
    const path = join('native', source.replace(/[/?]$/, ''))
    await copy(join(ROOT, path), join(target, path))
  }
  await copy(built, join(target, 'native', workspace, 'target/release/mayfly', basename(built)))
}

function skipGuest(error: unknown): undefined {
  if (!(error instanceof IsolationUnavailableError)) throw error
  console.error(`SKIPPED: the small guest: ${error.message}`)
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
