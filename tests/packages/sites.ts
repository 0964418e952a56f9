/**
 * The same handlers as plain routes and as isolated ones: a folder of copies for each mode, and a router over it.
 *
 * Runs under this folder's `deno.json`, which knows the packages.
 */
import { fromFileUrl } from '@std/path'
import { type IsolateRuntime, Router } from '@mayfly/mayfly'
import { type Input, toRequest, toWarmup } from './input.ts'

/** How a handler runs: `plain` in the host. */
export type Mode = 'plain' | IsolateRuntime

/** What a request was answered with. */
export interface Answer {
  readonly status: number
  /** Sorted by name. */
  readonly headers: readonly (readonly [string, string])[]
  /** Base64. */
  readonly body: string
  /** What the handler threw, or why it could not run. */
  readonly error?: string
}

/** Handlers in one mode. */
export interface Site {
  readonly router: Router
  ask(name: string, input: Input): Promise<Answer>
  close(): Promise<void>
}

/** How a site is made. */
export interface SiteOptions {
  /** By name of the handler; null for those that warm up with the default requests. */
  readonly inputs?: Readonly<Record<string, readonly Input[]>>
  /** Warm-up requests of each handler that has no `inputs`. */
  readonly warmup?: number
}

/** The requests of a handler as `deno fmt` leaves them: the default warm-up reads a route's text, and must not find them there. */
const INPUTS = /^export const inputs\b[^=]*= \[(?:\n[^]*?^\]|[^\n]*\])[^\n]*\n/m
const HANDLERS = new URL('./handlers/', import.meta.url)
/** Longer than the default: what is compared is the answer. */
const TIMEOUT_MS = 20_000
const MEMORY_MB = 256

/** Names of all handlers, sorted. */
export async function listHandlers(): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of Deno.readDir(HANDLERS)) names.push(name)
  return names.map((name) => name.replace(/\.tsx?$/, '')).sort()
}

/** The module of a handler, which runs here. */
export async function importHandler(name: string): Promise<Readonly<Record<string, unknown>>> {
  return await import((await fileOf(name)).href)
}

/** The inputs of a handler, by its `inputs` export. */
export async function readInputs(name: string): Promise<readonly Input[]> {
  const { inputs } = await importHandler(name)
  if (!Array.isArray(inputs) || inputs.length === 0) {
    throw new TypeError(
      `Cannot ask handlers/${name}: its export 'inputs' is ${Deno.inspect(inputs)}, want requests`,
    )
  }
  return inputs
}

/** A folder for routes, beside the handlers: what they import is found there. */
export async function makeFolder(): Promise<string> {
  return await Deno.makeTempDir({ dir: fromFileUrl(new URL('..', HANDLERS)), prefix: '.routes-' })
}

/** Opens the named handlers in one mode; the routes lie beside the handlers, in a folder that `close` removes. */
export async function openSite(
  mode: Mode,
  names: readonly string[],
  options: SiteOptions = {},
): Promise<Site> {
  const folder = await makeFolder()
  let router: Router | undefined
  const errors: unknown[] = []
  try {
    for (const name of names) await writeRoute(folder, mode, name, options)
    router = new Router({
      routesDir: folder,
      hotReload: false,
      requestTimeoutMs: 0,
      isolate: mode === 'plain' ? false : { vms: 1, runtime: mode, memoryMb: MEMORY_MB },
    })
    router.catch((_, { error }) => void errors.push(error))
    await router.ready()
  } catch (error) {
    await router?.close()
    await Deno.remove(folder, { recursive: true })
    throw error
  }
  const { fetch } = router
  return {
    router,
    async ask(name, input) {
      errors.length = 0
      const response = await fetch(toRequest(name, input))
      const body = new Uint8Array(await response.arrayBuffer()).toBase64()
      const [error] = errors
      return {
        status: response.status,
        headers: [...response.headers].sort(([a], [b]) => a < b ? -1 : 1),
        body,
        ...(error === undefined ? {} : { error: describe(error) }),
      }
    },
    async close() {
      await router.close()
      await Deno.remove(folder, { recursive: true })
    },
  }
}

/** Writes the route of a handler into the folder: its own text without `inputs`, with the value of `isolated` for that mode. Gives its path. */
export async function writeRoute(
  folder: string,
  mode: Mode,
  name: string,
  { inputs = {}, warmup = 1000 }: SiteOptions = {},
): Promise<string> {
  const file = await fileOf(name)
  const text = (await Deno.readTextFile(file)).replace(INPUTS, '')
  const chosen = inputs[name]?.map((input) => toWarmup(name, input))
  const may = ['cookies', 'headers:*']
  const isolated = { timeoutMs: TIMEOUT_MS, warmup: chosen ?? warmup, may }
  const more = mode === 'plain' ? '' : `\nexport const isolated = ${JSON.stringify(isolated, null, 2)}\n`
  const path = `${folder}/${name}${file.href.endsWith('x') ? '.tsx' : '.ts'}`
  await Deno.writeTextFile(path, text + more)
  return path
}

async function fileOf(name: string): Promise<URL> {
  for (const ending of ['.ts', '.tsx']) {
    const url = new URL(name + ending, HANDLERS)
    if (await Deno.stat(url).then(() => true, () => false)) return url
  }
  throw new Deno.errors.NotFound(
    `Cannot find a handler of the name '${name}' in ${HANDLERS.pathname}`,
  )
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return Deno.inspect(error)
  const cause = error.cause === undefined ? '' : `: ${describe(error.cause)}`
  return `${error.name}: ${error.message}${cause}`
}
