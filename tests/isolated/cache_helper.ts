/** A site whose snapshots lie on disk: in this process, or in one of its own that is killed, as a server may be. */
import { Router } from '@mayfly/mayfly'
import { fromFileUrl, join } from '@std/path'
import { type Answer, openSite, type Site } from './fixture.ts'

/** What a process of {@link askProcess} printed. */
export interface Told {
  readonly status: number
  readonly text: string
  /** Of its only program. */
  readonly cached: boolean
}

/** Draws from each of Deno's generators, and tells of the module's state. */
const ROUTE = `import { randomBytes } from 'node:crypto'

export const isolated = { warmup: 0, env: ['MAYFLY_CACHE_TEST'] }

const atBoot = crypto.randomUUID()
let count = 0
const secret = Deno.env.get('MAYFLY_CACHE_TEST') ?? ''

export async function GET(ctx) {
  const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', key)).toHex()
  const drawn = [Math.random(), crypto.randomUUID(), randomBytes(16).toString('hex'), raw]
  return ctx.send.json({ count: ++count, drawn, atBoot, secret, now: Date.now() })
}
`

/** What the route of {@link writeSite} answers. */
export interface Drawn {
  readonly count: number
  readonly drawn: readonly (string | number)[]
  readonly atBoot: string
  readonly secret: string
  readonly now: number
}

/** Folders of a test, removed with it. */
export class CacheFolders implements Disposable {
  readonly routes: string
  readonly cache: string
  readonly #parent = Deno.makeTempDirSync()

  constructor(source = ROUTE) {
    this.routes = join(this.#parent, 'routes')
    // Made by the router, with those above it.
    this.cache = join(this.#parent, 'above', 'cache')
    Deno.mkdirSync(this.routes)
    this.write(source)
  }

  /** Changes the route's source. */
  write(source: string): void {
    Deno.writeTextFileSync(join(this.routes, 'index.ts'), source)
  }

  /** The same source with one more line. */
  edit(line: string): void {
    this.write(`${ROUTE}${line}\n`)
  }

  /** Paths of the snapshots, the smallest file first: a program's is smaller than its base's. */
  files(): string[] {
    const paths = snapshotsIn(this.cache)
    return paths.toSorted((a, b) => Deno.statSync(a).size - Deno.statSync(b).size)
  }

  /** Waits until there are so many files, which are written in the background. */
  async waitFor(count: number): Promise<string[]> {
    for (let i = 0; i < 3000 && this.#count() < count; i++) await new Promise((done) => setTimeout(done, 10))
    const files = this.files()
    if (files.length < count) throw new Error(`${files.length} snapshots in ${this.cache}, want ${count}`)
    return files
  }

  #count(): number {
    try {
      return this.files().length
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return 0
      throw error
    }
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#parent, { recursive: true })
  }
}

/** Paths of the snapshots in a folder; the bundles beside them are none. */
export function snapshotsIn(folder: string): string[] {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
  const paths = names.filter((name) => /^[0-9a-f]{64}\.mayfly$/.test(name)).map((name) => join(folder, name))
  return paths.filter((path) => !isBundle(path))
}

/** Whether a file of the folder is a bundle: it begins with a digest. */
export function isBundle(path: string): boolean {
  return /^[0-9a-f]{64}\n\{/.test(new TextDecoder().decode(Deno.readFileSync(path).subarray(0, 66)))
}

/** Opens the site, as a start of a server does. */
export function openCached({ routes, cache }: CacheFolders, isolate: Record<string, unknown> = {}): Site {
  return openSite('', { routesDir: routes, isolate: { vms: 1, cacheDir: cache, ...isolate } })
}

/** Whether the site's program came from its file; undefined while it did not start. */
export function wasCached({ events }: Site): boolean | undefined {
  const ready = events.filter(({ kind }) => kind === 'isolate:ready')
  return (ready[0]?.metadata as { cached?: boolean } | undefined)?.cached
}

/** Opens the site, asks once, and closes it when so many files are there. */
export async function visit(
  folders: CacheFolders,
  isolate: Record<string, unknown> = {},
  files = 2,
): Promise<{ answer: Answer; drawn: Drawn; cached: boolean | undefined; stale: string[] }> {
  const site = openCached(folders, isolate)
  try {
    const answer = await site.ask('/')
    await folders.waitFor(files)
    const stale = site.events.filter(({ kind }) => kind === 'isolate:stale')
    return {
      answer,
      drawn: answer.text.startsWith('{"count"') ? JSON.parse(answer.text) : null!,
      cached: wasCached(site),
      stale: stale.map(({ metadata }) => String((metadata as { reason?: string }).reason)),
    }
  } finally {
    await site.close()
  }
}

/** Starts a process that opens the site, answers one request and waits for its files. */
export async function askProcess({ routes, cache }: CacheFolders): Promise<Told> {
  const script = fromFileUrl(new URL('./cache_process.ts', import.meta.url))
  const config = fromFileUrl(new URL('../../deno.json', import.meta.url))
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-check', '--config', config, script, routes, cache],
  }).output()
  const text = new TextDecoder()
  if (!success) throw new Error(`the process failed: ${text.decode(stderr)}`)
  return JSON.parse(text.decode(stdout))
}

/** A router over the site, for a process of its own. */
export function routerOf(routes: string, cache: string): Router {
  return new Router({
    routesDir: routes,
    hotReload: false,
    requestTimeoutMs: 0,
    isolate: { vms: 1, cacheDir: cache },
  })
}
