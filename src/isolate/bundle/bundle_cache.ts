/**
 * Bundles on disk: what a restarted server bundles no second time. A bundle that was kept is given for the same input as long as every
 * file is as it was: those that it consists of, the configuration above them, and the bundler's own.
 *
 * ```text
 * { own: digest, files: { path: digest }, map, inputs, missing, code: base64 }
 * ```
 * A file that would have been found in the place of another, had it been there, is not seen: whoever takes a kept bundle makes it anew
 * when there is time, and compares.
 */
import { dirname, fromFileUrl, join } from '@std/path'
import type { MissingUse } from '../core/missing_in_core.ts'
import { hexDigest } from '../../context/hex_digest.ts'
import { cacheFile } from './cache_file.ts'
import { readKept, touchKept, writeKept } from './kept_file.ts'
import { areThere, type PackageFile } from './package_files.ts'

/** A bundle. The same input and sources give the same bytes. */
export interface Bundle {
  readonly code: Uint8Array<ArrayBuffer>
  /** The source map as JSON: kept by the host, as mapping a stack in the guest would read it anew in every request. */
  readonly map: string
  /** Absolute paths of the files that the bundle consists of, sorted; remote modules are left out. */
  readonly inputs: readonly string[]
  /** Uses of globals that its runtime has not. */
  readonly missing: readonly MissingUse[]
  /** What its packages read beside their modules; left out: nothing. */
  readonly data?: readonly PackageFile[] | undefined
}

/** The bundle of an input, and whether it was kept. */
export interface TakenBundle {
  readonly bundle: Bundle
  readonly kept: boolean
}

/** What the bundler consists of. */
const OWN = ['./', '../compile/', '../resolve/', '../core/'].map((path) => new URL(path, import.meta.url))
/** Files above a module that say what its imports lead to, and how it is compiled. */
const CONFIGS = ['deno.json', 'deno.jsonc', 'deno.lock', 'package.json', 'tsconfig.json']

/** The bundles of a folder that nobody else may write to. */
export class BundleCache {
  readonly #folder: string
  /** Of the bundler; it does not change while it runs. */
  #own: Promise<string> | null = null
  /** Of files that kept bundles were compared with, by path: most have the same configuration above them. */
  readonly #digests = new Map<string, Promise<string>>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The bundle of `input` below `root`, kept or else made; `fresh`: made in any case. Rejects as `make` does. */
  async take(
    input: unknown,
    root: string,
    make: () => Promise<Bundle>,
    fresh = false,
  ): Promise<TakenBundle> {
    const name = await hexDigest(JSON.stringify(['bundle', Deno.version, root, input]))
    const path = cacheFile(this.#folder, name)
    const kept = fresh ? null : await this.#read(path)
    if (kept !== null) return { bundle: kept, kept: true }
    const bundle = await make()
    await this.#write(path, root, bundle).catch((error) => {
      console.error(`mayfly: a bundle is not kept: ${(error as Error).message}`)
    })
    return { bundle, kept: false }
  }

  async #read(path: string): Promise<Bundle | null> {
    try {
      const text = await readKept(path)
      if (text === null) return null
      const { own, files, code, ...bundle } = JSON.parse(text)
      if (own !== await this.#digestOwn() || !await this.#areAsTheyWere(files)) return null
      if (!areThere(bundle.data ?? [])) return null
      await touchKept(path)
      return { ...bundle, code: Uint8Array.fromBase64(code) }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) {
        console.error(`mayfly: a kept bundle cannot be read, and is made anew: ${(error as Error).message}`)
      }
      return null
    }
  }

  async #write(path: string, root: string, { code, ...bundle }: Bundle): Promise<void> {
    const paths = [...bundle.inputs, ...configsAbove(root)]
    const files = Object.fromEntries(
      await Promise.all(paths.map(async (file) => [file, await digestFile(file)])),
    )
    const own = await this.#digestOwn()
    await writeKept(path, JSON.stringify({ own, files, ...bundle, code: code.toBase64() }))
  }

  async #areAsTheyWere(files: Readonly<Record<string, string>>): Promise<boolean> {
    const same = await Promise.all(
      Object.entries(files).map(async ([file, then]) => {
        let now = this.#digests.get(file)
        if (now === undefined) this.#digests.set(file, now = digestFile(file))
        return await now === then
      }),
    )
    return same.every(Boolean)
  }

  #digestOwn(): Promise<string> {
    return this.#own ??= digestOwn()
  }
}

function configsAbove(root: string): string[] {
  const found: string[] = []
  for (let at = root;; at = dirname(at)) {
    found.push(...CONFIGS.map((name) => join(at, name)))
    if (dirname(at) === at) return found
  }
}

/** Of the bundler's modules, and of what says which versions it is made of. */
async function digestOwn(): Promise<string> {
  const modules = OWN.flatMap((url) => {
    const folder = fromFileUrl(url)
    return [...Deno.readDirSync(folder)].filter(({ isFile }) => isFile).map(({ name }) => join(folder, name))
  })
  const project = ['deno.json', 'deno.lock'].map((name) =>
    fromFileUrl(new URL(`../../../${name}`, import.meta.url))
  )
  // At once and not one by one: each read or digest in the background costs a start some tenths of a millisecond.
  const parts = [...modules.sort(), ...project].flatMap((path) => {
    const bytes = Deno.readFileSync(path)
    return [`${path} ${bytes.length}\n`, bytes]
  })
  return await hexDigest(...parts)
}

/** Of a file's content; '' where there is none. */
async function digestFile(path: string): Promise<string> {
  try {
    return await hexDigest(Deno.readFileSync(path))
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return ''
    throw error
  }
}
