/**
 * Bundles on disk: what a restarted server bundles no second time. A bundle that was kept is given for the same input as long as every
 * file is as it was: those that it consists of, the configuration above them, and the bundler's own.
 *
 * ```text
 * { files: { path: digest }, map, inputs, missing, code: base64 }
 * ```
 * A file that would have been found in the place of another, had it been there, is not seen: whoever takes a kept bundle makes it anew
 * when there is time, and compares.
 */
import { dirname, fromFileUrl, join } from '@std/path'
import type { MissingUse } from '../core/missing_in_core.ts'
import { hexDigest } from '../../context/hex_digest.ts'
import { cacheFile } from './cache_file.ts'
import { readKept, touchKept, writeKept } from './kept_file.ts'

/** A bundle. The same input and sources give the same bytes. */
export interface Bundle {
  readonly code: Uint8Array<ArrayBuffer>
  /** The source map as JSON: kept by the host, as mapping a stack in the guest would read it anew in every request. */
  readonly map: string
  /** Absolute paths of the files that the bundle consists of, sorted; remote modules are left out. */
  readonly inputs: readonly string[]
  /** Uses of globals that its runtime has not. */
  readonly missing: readonly MissingUse[]
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
  #own: Promise<string[]> | null = null

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
      const { files, code, ...bundle } = JSON.parse(text)
      if (!await areAsTheyWere(files)) return null
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
    this.#own ??= listOwn()
    const paths = [...bundle.inputs, ...await this.#own, ...configsAbove(root)]
    const files = Object.fromEntries(
      await Promise.all(paths.map(async (file) => [file, await digestFile(file)])),
    )
    await writeKept(path, JSON.stringify({ files, ...bundle, code: code.toBase64() }))
  }
}

async function areAsTheyWere(files: Readonly<Record<string, string>>): Promise<boolean> {
  const same = await Promise.all(
    Object.entries(files).map(async ([file, then]) => await digestFile(file) === then),
  )
  return same.every(Boolean)
}

function configsAbove(root: string): string[] {
  const found: string[] = []
  for (let at = root;; at = dirname(at)) {
    found.push(...CONFIGS.map((name) => join(at, name)))
    if (dirname(at) === at) return found
  }
}

/** The bundler's modules, and what says which versions it is made of. */
async function listOwn(): Promise<string[]> {
  const lists = await Promise.all(OWN.map(async (url) => {
    const folder = fromFileUrl(url)
    const names = await Array.fromAsync(Deno.readDir(folder))
    return names.filter(({ isFile }) => isFile).map(({ name }) => join(folder, name))
  }))
  const project = ['deno.json', 'deno.lock'].map((name) =>
    fromFileUrl(new URL(`../../../${name}`, import.meta.url))
  )
  return [...lists.flat(), ...project]
}

/** Of a file's content; '' where there is none. */
async function digestFile(path: string): Promise<string> {
  try {
    return await hexDigest(await Deno.readFile(path))
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return ''
    throw error
  }
}
