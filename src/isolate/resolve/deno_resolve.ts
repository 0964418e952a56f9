/** Module resolution as Deno does it: import maps, package.json, `npm:` and `jsr:` specifiers. */
import { fromFileUrl, normalize, toFileUrl } from '@std/path'

const PROBE = 'mayfly-resolve:'
const EMPTY = 'data:text/javascript,'

/** A resolution that a probe is on the way for. */
interface Question {
  readonly specifier: string
  readonly parentUrl: string
  answer: string | null
  error: unknown
}

let lastQuestion = 0

/** Asked for when it is needed: a server whose bundles are kept starts without it. */
function nodeModule() {
  return process.getBuiltinModule('node:module')
}

/**
 * The URL that `specifier` stands for when the module `parentUrl` imports it. Nothing is loaded: a module hook asks Deno's
 * resolver and puts an empty module in the place of what it found. Rejects with what the resolver throws.
 */
export async function resolveImport(specifier: string, parentUrl: string): Promise<string> {
  const question: Question = { specifier, parentUrl, answer: null, error: undefined }
  const name = PROBE + ++lastQuestion
  const hook = nodeModule().registerHooks({
    resolve(asked, context, next) {
      if (asked !== name) return next(asked, context)
      try {
        question.answer = next(specifier, { ...context, parentURL: parentUrl }).url
      } catch (error) {
        question.error = error
      }
      return { url: EMPTY, shortCircuit: true }
    },
  })
  try {
    await import(name)
  } finally {
    hook.deregister()
  }
  if (question.answer === null) throw question.error
  return question.answer
}

/** What ends a module before those that it imports run. */
const STOP = 'mayfly: stop'
const installed = new Map<string, Promise<void>>()

/**
 * Lets Deno find the package of `specifier`, by the import map or `npm:`, and fetch what is not in its cache, as an import would; the lock
 * file may grow. Nothing of it runs: a module is loaded that throws before it comes to its import. Rejects with what Deno says.
 */
export function installPackage(specifier: string): Promise<void> {
  const known = installed.get(specifier)
  if (known !== undefined) return known
  const made = install(specifier).catch((error) => {
    installed.delete(specifier)
    throw error
  })
  installed.set(specifier, made)
  return made
}

async function install(specifier: string): Promise<void> {
  const thrower = `data:text/javascript,throw ${JSON.stringify(STOP)}`
  const lines = [thrower, specifier].map((url) => `import ${JSON.stringify(url)}`)
  try {
    await import(EMPTY + encodeURIComponent(lines.join('\n')))
  } catch (error) {
    if (error === STOP) return
    throw error
  }
}

/** The file that `require(specifier)` in the file `parent` means. Throws what the resolver throws. */
export function resolveRequire(specifier: string, parent: string): string {
  return nodeModule().createRequire(toFileUrl(parent)).resolve(specifier)
}

/** `fs` and `node:fs` alike as `node:fs`, or null for anything that is not Node's API. */
export function toBuiltin(specifier: string): string | null {
  if (specifier.startsWith('node:')) return specifier
  return nodeModule().isBuiltin(specifier) ? `node:${specifier}` : null
}

/** A module that came over the network, from Deno's cache. */
export interface RemoteModule {
  readonly url: string
  readonly contents: Uint8Array
  readonly loader: string
  /** Specifiers as written, and the URLs that they stand for. */
  readonly imports: ReadonlyMap<string, string>
}

interface Info {
  readonly modules: readonly {
    readonly specifier: string
    readonly local?: string
    readonly mediaType?: string
    readonly error?: string
    readonly dependencies?: readonly { specifier: string; code?: { specifier?: string; error?: string } }[]
  }[]
  readonly redirects: Readonly<Record<string, string>>
}

const LOADERS: Readonly<Record<string, string>> = {
  JavaScript: 'js',
  Mjs: 'js',
  Jsx: 'jsx',
  TypeScript: 'ts',
  Mts: 'ts',
  Tsx: 'tsx',
  Json: 'json',
}

/** Remote modules by URL, filled a graph at a time. */
export interface RemoteModules {
  readonly modules: Map<string, RemoteModule>
  readonly redirects: Map<string, string>
}

/**
 * The module at `specifier` (`https:`, `http:` or `jsr:`), with all that it imports fetched into Deno's cache by
 * `deno info`. Rejects with an `Error` that says what Deno says.
 */
export async function loadRemote(known: RemoteModules, specifier: string): Promise<RemoteModule> {
  const found = findRemote(known, specifier)
  if (found !== undefined) return found
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ['info', '--json', specifier],
    stdin: 'null',
    env: { NO_COLOR: '1' },
  }).output()
  const decoder = new TextDecoder()
  if (!success) throw new Error(decoder.decode(stderr).trim())
  const { modules, redirects }: Info = JSON.parse(decoder.decode(stdout))
  for (const [from, to] of Object.entries(redirects)) known.redirects.set(from, to)
  for (const { specifier: url, local, mediaType = '', dependencies = [], error } of modules) {
    if (error !== undefined) throw new Error(error)
    if (local === undefined || url.startsWith('file:')) continue
    const imports = new Map<string, string>()
    for (const { specifier, code } of dependencies) {
      if (code?.specifier !== undefined) imports.set(specifier, code.specifier)
    }
    const contents = await Deno.readFile(local)
    known.modules.set(url, { url, contents, loader: LOADERS[mediaType] ?? 'js', imports })
  }
  const loaded = findRemote(known, specifier)
  if (loaded === undefined) throw new Error(`deno info told nothing of ${specifier}`)
  return loaded
}

function findRemote({ modules, redirects }: RemoteModules, specifier: string): RemoteModule | undefined {
  let url = specifier
  for (let hops = 0; hops < 10; hops++) {
    const next = redirects.get(url)
    if (next === undefined) break
    url = next
  }
  return modules.get(url)
}

/** Downloads what `specifier` needs into Deno's cache. */
export async function cacheModule(specifier: string): Promise<void> {
  await new Deno.Command(Deno.execPath(), {
    args: ['cache', '--quiet', specifier],
    stdin: 'null',
    stdout: 'null',
    stderr: 'null',
  }).output()
}

/** The folder as Deno names it, and where it lies. */
interface NpmCache {
  readonly named: string
  readonly real: string
}

let cache: Promise<NpmCache | null> | null = null

/** Real path of the folder where Deno keeps packages of npm, asked for once; null while there is none. */
export async function npmCache(): Promise<string | null> {
  const found = await (cache ??= findNpmCache())
  if (found === null) cache = null
  return found?.real ?? null
}

/** Whether a file is of a package: in a `node_modules`, or in Deno's cache. */
export async function isPackageFile(path: string): Promise<boolean> {
  if (path.includes('/node_modules/')) return true
  await npmCache()
  const found = await cache
  return found !== null && [found.named, found.real].some((folder) => path.startsWith(`${folder}/`))
}

async function findNpmCache(): Promise<NpmCache | null> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ['info', '--json'],
    stdin: 'null',
    stderr: 'null',
  }).output()
  const { npmCache }: { npmCache: string } = JSON.parse(new TextDecoder().decode(stdout))
  try {
    return { named: npmCache, real: await Deno.realPath(npmCache) }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null
    throw error
  }
}

/** A `file:` URL as a path, without query. Slashes in a row are one: each module has one path, however it was asked for. */
export function toPath(url: string): string {
  return normalize(fromFileUrl(url.replace(/[?#].*$/, '')))
}
