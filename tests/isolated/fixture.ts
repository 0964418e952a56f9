/** Routers over the fixture routes, in virtual machines; without KVM or cargo these tests are skipped aloud. */
import { type LifecycleEvent, Router, type RouterOptions } from '@mayfly/mayfly'
import { assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { buildLibrary } from '../../src/isolate/ffi/build/build.ts'
import { buildCoreGuest } from '../../src/isolate/ffi/build/core_build.ts'
import { checkKvmDevice } from '../../src/isolate/ffi/kvm_device.ts'
import { findCargo } from '../../src/isolate/ffi/build/toolchain.ts'
import { isQuick, isRest } from '../tiers.ts'
import { setEnvironment } from '../environment.ts'

/** Why no machine can run here; '' when one can. */
export const MISSING = await findMissing()

if (MISSING !== '') console.log(`SKIPPED: isolated routes: ${MISSING}`)

/** A router and what it told. */
export interface Site {
  readonly router: Router
  readonly events: LifecycleEvent[]
  /** Status and text of a request. */
  ask(path: string, init?: RequestInit): Promise<Answer>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/** Opens a folder of `routes/`, with one machine unless told, so that the next request meets the same one. */
export function openSite(folder: string, options: RouterOptions = {}): Site {
  const router = new Router({
    routesDir: fromFileUrl(new URL(`./routes/${folder}`, import.meta.url)),
    viewsDir: fromFileUrl(new URL('./views', import.meta.url)),
    hotReload: false,
    // The first request waits for the build of the native library.
    requestTimeoutMs: 0,
    isolate: { vms: 1 },
    ...options,
  })
  const events: LifecycleEvent[] = []
  router.on('isolate:*', (event) => void events.push(event))
  return {
    router,
    events,
    async ask(path, init) {
      const response = await router.fetch(new Request(`http://localhost${path}`, init))
      return { status: response.status, text: await response.text(), headers: response.headers }
    },
    close: () => router.close(),
  }
}

/** Kinds of events that tell of programs, not of a request; when they come is the programs' affair. */
export const OF_PROGRAMS: ReadonlySet<string> = new Set([
  'isolate:boot',
  'isolate:ready',
  'isolate:missing',
  'isolate:unsettled',
  'isolate:cold',
  'isolate:residue',
])

/** What runs isolated handlers. */
export type Runtime = 'deno' | 'core'

/** The suites run over both; in the quick tier over the first, as the build of the other takes minutes. */
export const RUNTIMES: readonly Runtime[] = isQuick() ? ['deno'] : isRest() ? ['core'] : ['deno', 'core']

/** Tests of one runtime. */
export function testIn(runtime: Runtime): typeof testIsolated {
  return (name, fn) =>
    testIsolated(`${runtime}: ${name}`, async () => {
      // As with the library: a router's start waits 10 s for it.
      if (runtime === 'core') await buildCoreGuest()
      await fn()
    })
}

/** A suite of one runtime: its tests, and a site that is open while they run. */
export interface Suite {
  readonly runtime: Runtime
  readonly test: typeof testIsolated
  readonly site: Site
}

/** Runs a suite in each runtime. */
export function inEachRuntime(
  open: (runtime: Runtime) => Site | Promise<Site>,
  suite: (suite: Suite) => void,
): void {
  const sites = openInEach(open)
  for (const runtime of RUNTIMES) suite({ runtime, test: testIn(runtime), site: sites[runtime] })
}

/** A site of each runtime, open while the tests of the file run. */
export function openInEach(
  open: (runtime: Runtime) => Site | Promise<Site>,
): Readonly<Record<Runtime, Site>> {
  const sites = RUNTIMES.map((runtime) => [runtime, openForTests(() => open(runtime))])
  return Object.fromEntries(sites) as Record<Runtime, Site>
}

function openForTests(open: () => Site | Promise<Site>): Site {
  let site: Site
  Deno.test.beforeAll(async () => {
    site = await open()
  })
  Deno.test.afterAll(() => site.close())
  return {
    get router() {
      return site.router
    },
    get events() {
      return site.events
    },
    ask: (path, init) => site.ask(path, init),
    close: () => site.close(),
  }
}

/** A test that needs a machine. The native pool outlives single tests, so what Deno counts is not counted. */
export function testIsolated(name: string, fn: () => Promise<void>): void {
  const run = async () => {
    // Not while a request waits: that wait is bounded.
    await buildLibrary()
    await fn()
  }
  Deno.test({ name, ignore: MISSING !== '', sanitizeOps: false, sanitizeResources: false, fn: run })
}

/** Opens a folder as in production, where error pages say nothing of the code. */
export async function openProduction(folder: string, runtime: Runtime = 'deno'): Promise<Site> {
  return await openAs('production', folder, { isolate: { vms: 1, runtime } })
}

/** Opens a folder as in development, where error pages and headers tell. */
export async function openDevelopment(folder: string, options: RouterOptions = {}): Promise<Site> {
  return await openAs('development', folder, options)
}

async function openAs(environment: string, folder: string, options: RouterOptions): Promise<Site> {
  using _environment = setEnvironment({ DENO_ENV: environment })
  const site = openSite(folder, options)
  await site.router.ready()
  return site
}

/** The `type` of a problem, asked for as JSON. */
export async function problemOf(site: Site, path: string): Promise<{ status: number; type: unknown }> {
  const { status, text } = await site.ask(path, { headers: { accept: 'application/problem+json' } })
  return { status, type: (JSON.parse(text) as { type?: unknown }).type }
}

/** What a request is answered with: status and problem type; a text is the body of a 200. */
export type Wanted = string | readonly [status: number, type: string]

/** Asks for `path` and compares the answer. */
export async function assertAnswer(site: Site, path: string, wanted: Wanted): Promise<void> {
  if (typeof wanted === 'string') {
    const { status, text } = await site.ask(path)
    assertEquals([status, text], [200, wanted])
  } else {
    const { status, type } = await problemOf(site, path)
    assertEquals<readonly unknown[]>([status, type], wanted)
  }
}

async function findMissing(): Promise<string> {
  try {
    await checkKvmDevice()
    if (!hasLibrary()) await findCargo()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

/** Whether a library was built before, so that no cargo is wanted; one of other sources fails with a word about it. */
function hasLibrary(): boolean {
  const target = Deno.env.get('CARGO_TARGET_DIR') ??
    fromFileUrl(new URL('../../native/target', import.meta.url))
  try {
    return [...Deno.readDirSync(`${target}/release/mayfly`)].some(({ name }) => name.endsWith('.so'))
  } catch {
    return false
  }
}
