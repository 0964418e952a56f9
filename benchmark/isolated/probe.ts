/**
 * Measurements of a site with one or two isolated routes, each in a process of its own. Argument: the name of a probe. Prints
 * its result as JSON.
 */
import { Router } from '@mayfly/mayfly'
import { join } from '@std/path'
import { median } from '../statistics.ts'
import { type HostMemory, readHostMemory } from './host_memory.ts'

/** Boots of a hello program. */
export interface BootResult {
  /** From its start to the snapshot, warm-up included, by the program. */
  readonly bootMs: number
  /** From the start of the server to the first answer. */
  readonly answerMs: number
}

/** Memory that a machine of a hello program adds to the host, in KiB. */
export interface MemoryResult {
  readonly machines: number
  /** What the process alone can see: private pages and its page tables. */
  readonly ownKib: number
  readonly tablesKib: number
  /** KVM's tables, of all processes of the host. */
  readonly kvmTablesKib: number
  /** What the host has less; other work on the host disturbs it. */
  readonly availableKib: number
}

/** A changed file. */
export interface ReloadResult {
  /** From the write to the first new answer, worst of several. */
  readonly worstMs: number
  readonly medianMs: number
  readonly failed: number
}

/** A memory hog and the hellos after it. */
export interface HogResult {
  /** Reset of a hello before, in microseconds. */
  readonly usualUs: number
  /** Resets of the hellos after each hog, in order. */
  readonly afterUs: readonly (readonly number[])[]
}

const HELLO = `export const isolated = true
export const GET = (ctx) => ctx.send.json({ hello: 'world!' })
`
const CORE_HELLO = HELLO.replace('true', `{ runtime: 'core' }`)
const HOG = `export const isolated = { warmup: 0 }
export function GET(ctx) {
  globalThis.kept = Array.from({ length: 200_000 }, (_, i) => ({ i }))
  return ctx.send.json({ kept: globalThis.kept.length })
}
`
/** Machines that are measured together; the memory of one is a share of the difference. */
const MANY = 33
const START_MS = 60_000
/** Hellos after a hog. */
const HELLOS = 8
/** A hog is under way after this, and not done for much longer. */
const HOG_START_MS = 5

interface Site {
  readonly folder: string
  readonly origin: string
  readonly bootMs: number
  readonly router: Router
}

/** Serves files from a folder of their own until `body` is done. */
async function withSite<T>(
  files: Readonly<Record<string, string>>,
  { vms, hotReload = false }: { vms: number; hotReload?: boolean },
  body: (site: Site) => Promise<T>,
): Promise<T> {
  const folder = await Deno.realPath(await Deno.makeTempDir())
  const stop = new AbortController()
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(folder, name), text)
  const router = new Router({ routesDir: folder, hotReload, isolate: { vms, queue: 10_000 } })
  const ready = Promise.withResolvers<number>()
  const listening = Promise.withResolvers<string>()
  // Behind a server it answers before it is warm.
  router.on('isolate:ready', ({ metadata: { warm, bootMs = 0 } }) => {
    if (warm !== false) ready.resolve(bootMs)
  })
  const deadline = setTimeout(
    () => ready.reject(new Error(`Cannot measure: no machine after ${START_MS} ms, want one`)),
    START_MS,
  )
  const served = router.serve({
    hostname: '127.0.0.1',
    port: 0,
    signal: stop.signal,
    onListen: ({ port }) => listening.resolve(`http://127.0.0.1:${port}`),
  })
  try {
    const origin = await listening.promise
    return await body({ folder, origin, bootMs: await ready.promise, router })
  } finally {
    clearTimeout(deadline)
    stop.abort()
    await served
    await Deno.remove(folder, { recursive: true })
  }
}

/** The text of an answer; rejects for a status other than 200. */
async function ask(url: string): Promise<string> {
  const response = await fetch(url)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`Cannot measure ${url}: status ${response.status}, want 200`)
  return text
}

async function askMany(url: string, count: number, atOnce: number): Promise<void> {
  let left = count
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (left-- > 0) await ask(url)
  }))
}

/** The median of three boots. */
async function measureBoot(): Promise<BootResult> {
  const boots: number[] = []
  const answers: number[] = []
  for (let i = 0; i < 3; i++) {
    const start = performance.now()
    await withSite({ 'hello.ts': HELLO }, { vms: 1 }, async ({ origin, bootMs }) => {
      await ask(`${origin}/hello`)
      boots.push(bootMs)
      answers.push(performance.now() - start)
    })
  }
  return { bootMs: median(boots)!, answerMs: median(answers)! }
}

/**
 * The difference between many machines and one, after requests in all of them; the median of three. The process has had as many
 * before, so that what its own heap keeps of them, for clients and connections, is there in both.
 */
async function measureMemory(hello: string): Promise<MemoryResult> {
  const held = (vms: number): Promise<HostMemory> =>
    withSite({ 'hello.ts': hello }, { vms }, async ({ origin }) => {
      for (let i = 0; i < 4; i++) await askMany(`${origin}/hello`, 20 * MANY, 2 * MANY)
      ;(globalThis as { gc?: () => void }).gc?.()
      await new Promise((resolve) => setTimeout(resolve, 500))
      return readHostMemory()
    })
  await held(MANY)
  const pairs: { one: HostMemory; many: HostMemory }[] = []
  for (let i = 0; i < 3; i++) pairs.push({ one: await held(1), many: await held(MANY) })
  const each = (name: keyof HostMemory) =>
    median(pairs.map(({ one, many }) => (many[name] - one[name]) / (MANY - 1)))!
  return {
    machines: MANY,
    ownKib: each('ownKib'),
    tablesKib: each('tablesKib'),
    kvmTablesKib: each('kvmTablesKib'),
    availableKib: -each('availableKib'),
  }
}

/** Writes new versions of a route and asks until they answer; requests that fail meanwhile are counted. */
async function measureReload(): Promise<ReloadResult> {
  const version = (n: number) => HELLO.replace('world!', `version ${n}`)
  return await withSite({ 'hello.ts': HELLO }, { vms: 2, hotReload: true }, async ({ origin, folder }) => {
    await ask(`${origin}/hello`)
    const times: number[] = []
    let failed = 0
    for (let n = 1; n <= 5; n++) {
      const start = performance.now()
      await Deno.writeTextFile(join(folder, 'hello.ts'), version(n))
      for (;;) {
        const answer = await ask(`${origin}/hello`).catch(() => undefined)
        if (answer === undefined) failed++
        if (answer?.includes(`version ${n}`)) break
        if (performance.now() - start > START_MS) throw new Error(`Cannot measure: version ${n} never came`)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      times.push(performance.now() - start)
    }
    return { worstMs: Math.max(...times), medianMs: median(times)!, failed }
  })
}

/** The same machine all the time, and never idle: the hellos wait while the hog runs. */
async function measureHog(): Promise<HogResult> {
  return await withSite({ 'hello.ts': HELLO, 'hog.ts': HOG }, { vms: 1 }, async ({ origin, router }) => {
    let resets: number[] = []
    router.on('isolate:complete', ({ metadata }) => void resets.push(metadata.resetMicros ?? 0))
    const hellos = () => askMany(`${origin}/hello`, HELLOS, HELLOS)
    // The figures of a reset follow its answer.
    const allTold = async (count: number) => {
      while (resets.length < count) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    for (let i = 0; i < 20; i++) await hellos()
    await allTold(20 * HELLOS)
    const usualUs = median(resets)!
    const afterUs: number[][] = []
    for (let trial = 0; trial < 5; trial++) {
      resets = []
      const hog = ask(`${origin}/hog`)
      await new Promise((resolve) => setTimeout(resolve, HOG_START_MS))
      if (resets.length > 0) throw new Error('Cannot measure: the hog was done before the hellos came')
      await Promise.all([hog, hellos()])
      await allTold(1 + HELLOS)
      const [, ...after] = resets
      afterUs.push(after)
      await hellos()
      await allTold(1 + 2 * HELLOS)
    }
    return { usualUs, afterUs }
  })
}

const PROBES = {
  boot: measureBoot,
  memory: () => measureMemory(HELLO),
  'memory-core': () => measureMemory(CORE_HELLO),
  reload: measureReload,
  hog: measureHog,
} as const

/** Name of a probe. */
export type ProbeName = keyof typeof PROBES

if (import.meta.main) {
  const [name] = Deno.args
  if (!Object.hasOwn(PROBES, name)) {
    throw new TypeError(`Cannot measure "${name}": want one of ${Object.keys(PROBES).join(' ')}`)
  }
  console.log(JSON.stringify(await PROBES[name as ProbeName]()))
}
