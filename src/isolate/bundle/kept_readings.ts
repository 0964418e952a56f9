/**
 * What was read of route files, on disk: what a restarted server parses no second time, as the start of esbuild takes as long as that of
 * a small server. A changed source has another digest, and another Mayfly another file.
 */
import { extname, fromFileUrl, resolve } from '@std/path'
import type { Readings } from '../../compiler/readings.ts'
import { hexDigest } from '../../context/hex_digest.ts'
import { cacheFile } from './cache_file.ts'
import { readKept, touchKept, writeKept } from './kept_file.ts'

/** What reads sources: folders and files of Mayfly's own. */
const OWN = ['../../compiler/', '../../router/load/isolated.ts', '../plan/literal.ts']

/** The readings of one folder of routes. */
export class KeptReadings implements Readings {
  readonly #path: string
  /** As JSON, by the digest of kind and source. */
  readonly #known: ReadonlyMap<string, string>
  /** Of this start. */
  readonly #used = new Map<string, string>()

  private constructor(path: string, known: ReadonlyMap<string, string>) {
    this.#path = path
    this.#known = known
  }

  /**
   * Those in `folder`, which is made if need be, of the routes in `root`. Null where somebody else could have put them there, or where
   * Deno does not say who this user is.
   */
  static async open(folder: string, root: string): Promise<KeptReadings | null> {
    try {
      if (!await isOwn(folder)) return null
      const own = await readOwn()
      const path = cacheFile(
        resolve(folder),
        await hexDigest(JSON.stringify(['readings', Deno.version, root]), ...own),
      )
      const text = await readKept(path).catch((error) => {
        if (error instanceof Deno.errors.NotFound) return null
        throw error
      })
      if (text !== null) await touchKept(path)
      return new KeptReadings(path, new Map(text === null ? [] : Object.entries<string>(JSON.parse(text))))
    } catch {
      // Without them each source is read; who cannot use the folder hears of it when the machines open.
      return null
    }
  }

  async of<T>(kind: string, path: string, source: string, read: () => Promise<T>): Promise<T> {
    const key = await hexDigest(JSON.stringify([kind, extname(path)]), source)
    const known = this.#known.get(key)
    if (known !== undefined) {
      this.#used.set(key, known)
      return JSON.parse(known, withoutPrototype)
    }
    const value = await read()
    if (isPlain(value)) this.#used.set(key, JSON.stringify(value))
    return value
  }

  /** Keeps what was read or used in this start. Rejects where it cannot be written. */
  async save(): Promise<void> {
    const isKnown = this.#used.size === this.#known.size &&
      [...this.#used.keys()].every((key) => this.#known.has(key))
    if (!isKnown) await writeKept(this.#path, JSON.stringify(Object.fromEntries(this.#used)))
  }
}

/** Whether nobody else can write to a folder: what is read of a route says whether the host may import it. */
async function isOwn(folder: string): Promise<boolean> {
  const { state } = await Deno.permissions.query({ name: 'sys', kind: 'uid' })
  if (state !== 'granted') return false
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 })
  const { isDirectory, uid, mode } = await Deno.stat(folder)
  return isDirectory && uid !== null && uid === Deno.uid() && mode !== null && (mode & 0o022) === 0
}

async function readOwn(): Promise<Uint8Array[]> {
  const paths = (await Promise.all(OWN.map(async (name) => {
    const path = fromFileUrl(new URL(name, import.meta.url))
    if (!name.endsWith('/')) return [path]
    return (await Array.fromAsync(Deno.readDir(path))).filter(({ isFile }) => isFile).map((file) =>
      path + file.name
    )
  }))).flat().sort()
  return await Promise.all(paths.map((path) => Deno.readFile(path)))
}

/** Whether JSON gives the same again. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || value === null) {
    return value === null || typeof value === 'string' || typeof value === 'boolean'
  }
  return Object.values(value).every(isPlain)
}

/** Objects as `evaluateLiteral` makes them. */
function withoutPrototype(_key: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.assign(Object.create(null), value) : value
}
