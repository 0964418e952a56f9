import { join, resolve } from '@std/path'
import { nearName } from '../../text/near_name.ts'

/** A file below the routes folder. */
export interface CrawledFile {
  /** Path below the routes folder with forward slashes: `users/[id].ts`. */
  readonly relative: string
  /** Absolute path, symbolic links left as they are. */
  readonly path: string
}

/** What a folder says about the routes below it. */
export interface CrawledFolder {
  /** Path below the routes folder, '' for itself. */
  readonly relative: string
  readonly middleware: readonly CrawledFile[]
  readonly errors: readonly CrawledFile[]
}

/** Files of one folder that no rule takes. */
export interface Stray {
  readonly file: CrawledFile
  readonly others: number
  /** The name that may have been meant. */
  readonly near: string | undefined
}

/** A walk of the routes folder, in an order that does not depend on the file system. */
export interface Crawl {
  /** Absolute path of the routes folder. */
  readonly root: string
  /** The folder as the application names it, for messages. */
  readonly name: string
  readonly files: readonly CrawledFile[]
  /** Files that no rule takes, by folder, each with what is wrong with the first of them. */
  readonly strays: readonly Stray[]
  /** Every folder that was entered, by its relative path, parents first. */
  readonly folders: ReadonlyMap<string, CrawledFolder>
}

const ROUTE_FILE = /\.(?:ts|tsx|js|jsx|mjs)$/
const TEST_FILE = /(?:\.test|_test)\.tsx?$|(?:\.test|_test)\.(?:js|jsx|mjs)$|\.d\.ts$/

/** Files beside routes that are theirs: declarations, and requests for the warm-up. */
const KNOWN_FILE = /\.d\.[mc]?ts$|\.warmup\.json$/
const SPECIAL = ['_middleware', '_error']

/**
 * Walks `routesDir` in code-unit order of names. Names that start with `_`, `@` or `.`, tests (`*.test.ts`,
 * `*_test.ts`), declarations (`*.d.ts`) and files of other kinds are left out; `_middleware.*` and `_error.*` are
 * reported with their folder. Of other files in a folder one is named as a stray. Symbolic links are followed, except to a folder that holds them.
 *
 * Throws `Deno.errors.NotFound` or `Deno.errors.NotADirectory` that names the folder and the remedy.
 */
export async function crawl(routesDir: string): Promise<Crawl> {
  const root = resolve(routesDir)
  await checkFolder(routesDir, root)
  const files: CrawledFile[] = []
  const folders = new Map<string, CrawledFolder>()
  const strays: Stray[] = []
  await walkFolder(root, '', [], { files, folders, strays })
  return { root, name: routesDir, files, folders, strays }
}

async function checkFolder(routesDir: string, root: string): Promise<void> {
  let info: Deno.FileInfo
  try {
    info = await Deno.stat(root)
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
    throw new Deno.errors.NotFound(
      `read routes folder: '${routesDir}' does not exist (looked at ${root}), wanted a folder: create it or set routesDir`,
    )
  }
  if (info.isDirectory) return
  throw new Deno.errors.NotADirectory(
    `read routes folder: '${routesDir}' is a file (looked at ${root}), wanted a folder: set routesDir to one`,
  )
}

/** What a walk has found so far. */
interface Found {
  readonly files: CrawledFile[]
  readonly folders: Map<string, CrawledFolder>
  readonly strays: Stray[]
}

async function walkFolder(
  path: string,
  relative: string,
  above: readonly string[],
  found: Found,
): Promise<void> {
  const entries: Deno.DirEntry[] = []
  for await (const entry of Deno.readDir(path)) entries.push(entry)
  entries.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  const middleware: CrawledFile[] = []
  const errors: CrawledFile[] = []
  found.folders.set(relative, { relative, middleware, errors })
  const strays: { file: CrawledFile; near: string | undefined }[] = []
  for (const { name, isSymlink, ...kind } of entries) {
    const file = { relative: relative === '' ? name : `${relative}/${name}`, path: join(path, name) }
    if (name.startsWith('_')) {
      if (!ROUTE_FILE.test(name)) continue
      const stem = name.slice(0, name.lastIndexOf('.'))
      if (stem === '_middleware') middleware.push(file)
      else if (stem === '_error') errors.push(file)
      else {
        const near = nearName(stem, SPECIAL)
        if (near !== undefined) strays.push({ file, near: near + name.slice(stem.length) })
      }
      continue
    }
    if (name.startsWith('@') || name.startsWith('.')) continue
    const target = isSymlink ? await followLink(file.path) : kind
    if (target?.isDirectory) {
      const chain = [...above, await Deno.realPath(path)]
      if (isSymlink && chain.includes(await Deno.realPath(file.path))) continue
      await walkFolder(file.path, file.relative, chain, found)
    } else if (target?.isFile) {
      if (!ROUTE_FILE.test(name)) {
        if (!KNOWN_FILE.test(name)) strays.push({ file, near: undefined })
      } else if (!TEST_FILE.test(name)) found.files.push(file)
    }
  }
  const [misspelt, ...more] = strays.toSorted((a, b) =>
    Number(b.near !== undefined) - Number(a.near !== undefined)
  )
  if (misspelt !== undefined) found.strays.push({ ...misspelt, others: more.length })
}

/** What a link points to; null if that does not exist. */
async function followLink(path: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.stat(path)
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null
    throw error
  }
}
