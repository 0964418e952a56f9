/**
 * Files that packages read beside their modules while they run: WebAssembly, fonts, tables. A machine has those of the packages in which a
 * bundled module asks where it lies (`__dirname`, `import.meta.url`), read-only, where `toGuestPath` says that the package is.
 *
 * ```text
 * <cache>/npm/<registry>/figlet/1.12.0/fonts/Big.flf   mounted at   /node_modules/.deno/figlet@1.12.0/node_modules/figlet/fonts/Big.flf
 * ```
 */
import { join } from '@std/path'
import { toGuestPath } from '../resolve/guest_path.ts'

/** A file of a package. */
export interface PackageFile {
  /** Absolute path in the guest. */
  readonly guest: string
  /** Real path on the host. */
  readonly host: string
  readonly bytes: number
}

/** Where packages lie in a guest. */
export const PACKAGES_PATH = '/node_modules'
/** Files of one program, and their bytes. A package that would go beyond them has none: it would find some of its files, and miss others. */
const MOST_FILES = 2000
const MOST_BYTES = 128 << 20
/** Folders in one another. */
const DEPTH = 8
/** Code, which the bundle holds already: only some packages read it as text (uglify-js, typescript). */
const CODE = /\.[cm]?[jt]sx?$/i
/** Native code, and words for people. */
const LEFT_OUT =
  /\.(?:map|md|markdown|node|flow|tsbuildinfo|html?|gyp|gypi|sh|exe|dll|so|dylib)$|^(?:licen[sc]e|readme|changelog)/i
/** Folders that hold no files of a package at work. */
const OTHER_FOLDERS = /^(?:\..*|node_modules|__?tests?__?|tests?|specs?|examples?|benchmarks?)$/

/** The folder of the package that a real path lies in: in Deno's cache, or in a `node_modules`. */
const PACKAGE = /^(?:.*\/node_modules\/(?:@[^/]+\/)?[^/]+|.*\/npm\/[^/]+\/(?:@[^/]+\/)?[^/]+\/[^/]+)(?=\/)/

/**
 * The files of the packages that modules lie in, by their paths in the guest: `modules` are real paths, and say whether the module reads
 * files, so that its package's code is among them. `project` is a real path.
 */
export async function findPackageFiles(
  modules: Iterable<readonly [path: string, reads: boolean]>,
  project: string,
): Promise<PackageFile[]> {
  const folders = new Map<string, boolean>()
  for (const [path, reads] of modules) {
    const folder = PACKAGE.exec(path)?.[0]
    if (folder !== undefined) folders.set(folder, reads || folders.get(folder) === true)
  }
  const found: PackageFile[] = []
  let bytes = 0
  for (const [folder, reads] of [...folders].sort()) {
    const inside = await toGuestPath(`${folder}/package.json`, project)
    if (!inside.startsWith(`${PACKAGES_PATH}/`)) continue
    const guest = inside.slice(0, -'/package.json'.length)
    for (const leftOut of reads ? [[LEFT_OUT], [LEFT_OUT, CODE]] : [[LEFT_OUT, CODE]]) {
      const files = listFiles(folder, guest, leftOut, MOST_FILES - found.length)
      const own = files?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0
      if (files === null || bytes + own > MOST_BYTES) continue
      bytes += own
      found.push(...files)
      break
    }
  }
  return found
}

/** Null where there are more than `most`. Links lead nowhere. */
function listFiles(
  folder: string,
  guest: string,
  leftOut: readonly RegExp[],
  most: number,
  depth = 0,
): PackageFile[] | null {
  const files: PackageFile[] = []
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)
  for (const { name, isFile, isDirectory } of entries) {
    const [host, inside] = [join(folder, name), `${guest}/${name}`]
    if (isDirectory && depth < DEPTH && !OTHER_FOLDERS.test(name)) {
      const below = listFiles(host, inside, leftOut, most - files.length, depth + 1)
      if (below === null) return null
      files.push(...below)
    }
    if (isFile && !leftOut.some((pattern) => pattern.test(name))) {
      files.push({ guest: inside, host, bytes: Deno.statSync(host).size })
    }
    if (files.length > most) return null
  }
  return files
}

/** Whether all files are there as they were; what is in a package of one version does not change. */
export function areThere(files: readonly PackageFile[]): boolean {
  return files.every(({ host, bytes }) => {
    try {
      const { isFile, size } = Deno.lstatSync(host)
      return isFile && size === bytes
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false
      throw error
    }
  })
}
