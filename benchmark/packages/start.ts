/**
 * How many real programs start: the first handlers of `tests/packages` as isolated routes of one server with the default warm-up, all asked
 * at once as soon as it listens.
 *
 * deno run -A --no-check --config tests/packages/deno.json benchmark/packages/start.ts [--programs 100] [--cold]
 *
 * Says when the first answers came, when all programs were warm (not with `--cold`), what CPU time this process took until then, and its
 * memory. Exits with 1 when a first answer has a status of 500 or more.
 */
import process from 'node:process'
import { parseArgs } from '@std/cli/parse-args'
import { Router } from '@mayfly/mayfly'
import { toRequest } from '../../tests/packages/input.ts'
import { findKnown } from '../../tests/packages/known.ts'
import { listHandlers, makeFolder, readInputs, writeRoute } from '../../tests/packages/sites.ts'
import { measureMemory } from '../programs/memory.ts'
import { median } from '../statistics.ts'

const MIB = 1 << 20
/** Longest wait for the last program, in milliseconds. */
const WAIT_MS = 600_000
/** Pause before a program that has not started is asked again, in milliseconds. */
const PAUSE_MS = 20

/** A server of the named handlers. */
interface Server {
  readonly port: number
  /** Programs that are warm, by their ids, and whether they are as fast as at the end of their warm-up. */
  readonly warm: ReadonlyMap<string, boolean>
  close(): Promise<void>
}

async function open(names: readonly string[]): Promise<Server> {
  const folder = await makeFolder()
  for (const name of names) await writeRoute(folder, 'deno', name)
  const router = new Router({
    routesDir: folder,
    hotReload: false,
    requestTimeoutMs: 0,
    isolate: { memoryMb: 256 },
  })
  const warm = new Map<string, boolean>()
  router.on('isolate:ready', ({ metadata }) => {
    if (metadata.warm === true) warm.set(metadata.program, metadata.settled === true)
  })
  const listening = Promise.withResolvers<number>()
  router.on('server:listening', ({ metadata }) => listening.resolve(metadata.port))
  const stop = new AbortController()
  const served = router.serve({ hostname: '127.0.0.1', port: 0, signal: stop.signal })
  return {
    port: await listening.promise,
    warm,
    async close() {
      stop.abort()
      await served
      await Deno.remove(folder, { recursive: true })
    },
  }
}

/** Asks until the program has started; gives the status. */
async function ask(port: number, name: string, request: () => Request): Promise<number> {
  const deadline = performance.now() + WAIT_MS
  for (;;) {
    const given = request()
    const { pathname, search } = new URL(given.url)
    const response = await fetch(new Request(`http://127.0.0.1:${port}${pathname}${search}`, given))
    await response.body?.cancel()
    if (response.status !== 503) return response.status
    if (performance.now() > deadline) throw new Error(`${name} answers 503 after ${WAIT_MS} ms`)
    await pause()
  }
}

async function untilWarm({ warm }: Server, programs: number): Promise<void> {
  const deadline = performance.now() + WAIT_MS
  while (warm.size < programs) {
    if (performance.now() > deadline) {
      throw new Error(`${warm.size} of ${programs} are warm after ${WAIT_MS} ms`)
    }
    await pause()
  }
}

const pause = () => new Promise((done) => setTimeout(done, PAUSE_MS))

async function main(programs: number, isCold: boolean): Promise<boolean> {
  const all = await listHandlers()
  const names = all.filter((name) => findKnown(name, 'deno', 0) === undefined).slice(0, programs)
  const inputs = new Map(
    await Promise.all(names.map(async (name) => [name, (await readInputs(name))[0]!] as const)),
  )
  const [began, before] = [performance.now(), process.cpuUsage()]
  const spent = () => {
    const { user, system } = process.cpuUsage(before)
    return `${Math.round(performance.now() - began)} ms (${
      Math.round((user + system) / 1000)
    } ms of CPU time)`
  }
  const memory = async () => {
    const { bytes, snapshotBytes } = await measureMemory()
    const { heapUsed, external } = Deno.memoryUsage()
    const [all, snapshots, own] = [bytes, snapshotBytes, heapUsed + external].map((part) =>
      Math.round(part / MIB)
    )
    return `${all} MiB, ${snapshots} of them snapshots and ${own} JavaScript`
  }
  // With what the packages' inputs took.
  console.log(`memory before: ${await memory()}`)
  const server = await open(names)
  try {
    const opened = performance.now() - began
    console.log(`${names.length} programs, load ${Deno.loadavg()[0]!.toFixed(1)}; listening after ${spent()}`)
    const wrong: string[] = []
    const firsts = await Promise.all(names.map(async (name) => {
      const status = await ask(server.port, name, () => toRequest(name, inputs.get(name)!))
      if (status >= 500) wrong.push(`${name} answers ${status}`)
      return performance.now() - began
    }))
    const sorted = firsts.sort((a, b) => a - b)
    const gaps = sorted.map((at, index) => at - (sorted[index - 1] ?? opened))
    console.log(
      `first answers: the first after ${Math.round(sorted[0]!)} ms, half after ${
        Math.round(median(sorted)!)
      } ms, all after ${spent()}; at most ${Math.round(Math.max(...gaps))} ms from one to the next`,
    )
    console.log(`memory with all answered: ${await memory()}`)
    if (!isCold) {
      await untilWarm(server, names.length)
      const unsettled = [...server.warm.values()].filter((settled) => !settled).length
      console.log(`all warm after ${spent()}, ${unsettled} of them not settled; memory ${await memory()}`)
    }
    for (const line of wrong) console.log(`wrong: ${line}`)
    return wrong.length === 0
  } finally {
    await server.close()
  }
}

if (import.meta.main) {
  const { programs = '100', cold } = parseArgs<{ programs?: string; cold: boolean }>(Deno.args, {
    string: ['programs'],
    boolean: ['cold'],
  })
  const isRight = await main(Number(programs), cold)
  // What packages began in this process when their inputs were read goes on.
  Deno.exit(isRight ? 0 : 1)
}
