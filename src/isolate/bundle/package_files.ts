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
/** Code, which the bundle holds already or which no program reads, native code, and words for people. */
const LEFT_OUT =
  /\.(?:[cm]?[jt]sx?|map|md|markdown|node|flow|tsbuildinfo|html?|gyp|gypi|sh|exe|dll|so|dylib)$|^(?:licen[sc]e|readme|changelog)/i
/** Folders that hold no files of a package at work. */
const OTHER_FOLDERS = /^(?:\..*|node_modules|__?tests?__?|tests?|specs?|examples?|benchmarks?)$/

/** The folder of the package that a real path lies in: in Deno's cache, or in a `node_modules`. */
const PACKAGE = /^(?:.*\/node_modules\/(?:@[^/]+\/)?[^/]+|.*\/npm\/[^/]+\/(?:@[^/]+\/)?[^/]+\/[^/]+)(?=\/)/

/** The files of the packages that `modules` (real paths) lie in, by their paths in the guest. `project` is a real path. */
export async function findPackageFiles(modules: Iterable<string>, project: string): Promise<PackageFile[]> {
  const folders = new Set<string>()
  for (const path of modules) {
    const folder = PACKAGE.exec(path)?.[0]
    if (folder !== undefined) folders.add(folder)
  }
  const found: PackageFile[] = []
  let bytes = 0
  for (const folder of [...folders].sort()) {
    const guest = await toGuestPath(`${folder}/package.json`, project)
    if (!guest.startsWith(`${PACKAGES_PATH}/`)) continue
    const files = listFiles(folder, guest.slice(0, -'/package.json'.length), MOST_FILES - found.length)
    const own = files?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0
    if (files === null || bytes + own > MOST_BYTES) continue
    bytes += own
    found.push(...files)
  }
  return found
}

/** Null where there are more than `most`. Links lead nowhere. */
function listFiles(folder: string, guest: string, most: number, depth = 0): PackageFile[] | null {
  const files: PackageFile[] = []
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)
  for (const { name, isFile, isDirectory } of entries) {
    const [host, inside] = [join(folder, name), `${guest}/${name}`]
    if (isDirectory && depth < DEPTH && !OTHER_FOLDERS.test(name)) {
      const below = listFiles(host, inside, most - files.length, depth + 1)
      if (below === null) return null
      files.push(...below)
    }
    if (isFile && !LEFT_OUT.test(name)) files.push({ guest: inside, host, bytes: Deno.statSync(host).size })
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
