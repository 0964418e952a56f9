/**
 * `deno task bench --sandbox`: code that arrives at runtime, in Mayfly's `Sandbox` and by the other ways to run it. Flags:
 *
 * - `--quick`: one round with runs of 1 s, written to `quick.sandbox.*`
 * - `--rounds 5`: default 3, `--seconds 4`: seconds of a run
 * - `--only run,workerd-load`: these ways (plan.ts), written as with `--quick`
 */
import { fromFileUrl } from '@std/path'
import { buildLibrary } from '../../src/isolate/ffi/build/build.ts'
import { buildCoreGuest } from '../../src/isolate/ffi/build/core_build.ts'
import { describeMachine } from '../machine.ts'
import { readRunFlags } from '../run_flags.ts'
import { median } from '../statistics.ts'
import { fileOf, type RunningServer, startCommand } from '../server.ts'
import { drawSandbox } from './chart.ts'
import type { LoadResult } from './load.ts'
import { findIsolatedVm, startIsolatedVm } from './isolated_vm.ts'
import {
  CONNECTIONS,
  findWay,
  type Host,
  SANDBOX_WAYS,
  type SandboxWay,
  type Through,
  throughs,
} from './plan.ts'
import { formatSandbox, formatTime, toSandboxPage } from './report.ts'
import {
  type PromotionRun,
  type SandboxReport,
  type SandboxRun,
  toSandboxFigures,
  toSandboxRows,
  type VmRun,
} from './results.ts'
import type { PromotionTurn } from './promotion.ts'
import type { VmTurn } from './vm.ts'
import { findWorkerd, startWorkerd } from './workerd.ts'

const LOAD = 'sandbox/load.ts'
const RESULTS = new URL('../results/', import.meta.url)
/** Longest time until a way answers: its program may have to become warm. */
const START_MS = 120_000
/** Of VM times: turns of a process, and milliseconds of one. */
const VM_TURNS = ['5', '300'] as const
/** Promotions of a round. */
const PROMOTIONS = '3'
/** Longest run, its start included. */
const CHILD_MS = 300_000

/** A server of others. */
interface Peer {
  /** As it says itself: `workerd 2026-11-17`. */
  readonly version: string
  start(): Promise<RunningServer>
}

/** By whose ways need them. */
const PEERS: { readonly [host in Host]?: () => Promise<Peer> } = {
  async workerd() {
    const found = await findWorkerd()
    return { version: found.version, start: () => startWorkerd(found) }
  },
  async node() {
    const found = await findIsolatedVm()
    return { version: found.version, start: () => startIsolatedVm(found) }
  },
}

/** What is run. */
export interface SandboxSettings {
  /** Every way, at full length. */
  readonly whole: boolean
  readonly rounds: number
  readonly seconds: number
  readonly ways: readonly SandboxWay[]
}

/** Reads the flags. Throws `TypeError` for one that is unknown, and for a value that is none. */
export function toSandboxSettings(args: readonly string[]): SandboxSettings {
  const { whole, rounds, length, only } = readRunFlags(args, 'seconds', { whole: [3, 4], quick: [1, 1] })
  return { whole, rounds, seconds: length, ways: only?.map(findWay) ?? SANDBOX_WAYS }
}

/** Measures, prints and writes. Resolves to whether everything was measured but what needs a peer that is not to be had. */
export async function main(args: readonly string[]): Promise<boolean> {
  const settings = toSandboxSettings(args)
  const { whole, rounds, seconds } = settings
  const skipped: string[] = []
  const failures: string[] = []
  const peers = await findPeers(settings.ways, skipped)
  const ways = settings.ways.filter(({ host }) => !Object.hasOwn(PEERS, host) || peers.has(host))
  await buildNative(ways, failures)
  const runs: SandboxRun[] = []
  const vmRuns: VmRun[] = []
  const promotionRuns: PromotionRun[] = []
  const loads: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (const way of ways.map((_, i) => ways[(i + round) % ways.length])) {
      for (const connections of CONNECTIONS) {
        for (const through of throughs(way)) {
          const label = `${way.name}, ${through}, ${connections} at once`
          loads.push(Deno.loadavg()[0])
          const found = await attempt(
            label,
            () => measure(way, through, connections, seconds, peers.get(way.host)),
            failures,
          )
          if (found === undefined) continue
          runs.push({ round, way: way.id, through, connections, ...found })
          console.error(`  ${found.requestsPerSecond.toFixed(0)} req/s, p50 ${formatTime(found.p50)}`)
        }
      }
    }
    for (const { id, runtime } of ways) {
      if (!id.startsWith('get-warm') || runtime === undefined) continue
      const measureVm = () => runChild<VmTurn[]>('sandbox/vm.ts', [runtime, ...VM_TURNS])
      const turns = await attempt(`VM times, ${runtime}`, measureVm, failures)
      if (turns !== undefined) vmRuns.push({ runtime, turns })
      const promote = () => runChild<PromotionTurn[]>('sandbox/promotion.ts', [runtime, PROMOTIONS])
      const promotions = await attempt(`promotions, ${runtime}`, promote, failures)
      if (promotions !== undefined) promotionRuns.push({ runtime, turns: promotions })
    }
  }
  const report: SandboxReport = {
    machine: describeMachine(),
    date: new Date().toISOString(),
    command: ['deno task bench --sandbox', ...args].join(' '),
    loadAverage: median(loads) ?? Deno.loadavg()[0],
    peers: [...peers.values()].map(({ version }) => version),
    seconds,
    rounds,
    rows: toSandboxRows(ways, runs),
    figures: toSandboxFigures(runs, vmRuns, promotionRuns),
    runs,
    vmRuns,
    promotionRuns,
    skipped: [...skipped, ...failures],
  }
  console.log(`\n${formatSandbox(report)}`)
  await save(report, whole ? 'sandbox' : 'quick.sandbox')
  return failures.length === 0
}

/** Finds those that some way needs. */
async function findPeers(
  ways: readonly SandboxWay[],
  skipped: string[],
): Promise<ReadonlyMap<Host, Peer>> {
  const peers = new Map<Host, Peer>()
  for (const [host, find] of Object.entries(PEERS) as [Host, () => Promise<Peer>][]) {
    if (!ways.some((way) => way.host === host)) continue
    const peer = await attempt(host, find, skipped)
    if (peer !== undefined) peers.set(host, peer)
  }
  return peers
}

/** All that is native, so that nothing that is timed waits for a compiler. */
async function buildNative(ways: readonly SandboxWay[], failures: string[]): Promise<void> {
  if (ways.some(({ host }) => host === 'mayfly')) await attempt('native library', buildLibrary, failures)
  if (ways.some(({ runtime }) => runtime === 'core')) await attempt('small guest', buildCoreGuest, failures)
}

/** One run, in processes of its own. */
async function measure(
  way: SandboxWay,
  through: Through,
  connections: number,
  seconds: number,
  peer: Peer | undefined,
): Promise<LoadResult> {
  const args = [way.id, `${connections}`, `${seconds}`]
  if (through === 'call') return await runChild<LoadResult>(LOAD, args)
  const server = await start(way, peer)
  try {
    return await runChild<LoadResult>(LOAD, [...args, server.origin, `${server.pid}`])
  } finally {
    await server.stop()
  }
}

async function start(way: SandboxWay, peer: Peer | undefined): Promise<RunningServer> {
  if (peer !== undefined) return await peer.start()
  return await startCommand((port) => ({
    name: way.name,
    command: Deno.execPath(),
    args: ['run', '-A', '--no-prompt', '--no-check', fileOf('sandbox/server.ts'), way.id],
    env: { PORT: `${port}`, DENO_ENV: 'production' },
    startMs: START_MS,
  }))
}

/** The JSON that a module of the benchmark prints. */
async function runChild<T>(file: string, args: readonly string[]): Promise<T> {
  const { success, code, signal, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-prompt', '--no-check', fileOf(file), ...args],
    stdin: 'null',
    stderr: 'inherit',
    signal: AbortSignal.timeout(CHILD_MS),
  }).output()
  if (success) return JSON.parse(new TextDecoder().decode(stdout))
  throw new Error(`${file} ended with ${signal ?? code}, see above`)
}

/** The result, or undefined with a line in `failures`, which is told at once too. */
async function attempt<T>(
  name: string,
  work: () => Promise<T>,
  failures: string[],
): Promise<T | undefined> {
  console.error(name)
  try {
    return await work()
  } catch (error) {
    const line = `${name}: ${(error as Error).message}`
    failures.push(line)
    console.error(`SKIPPED: ${line}`)
    return undefined
  }
}

async function save(report: SandboxReport, name: string): Promise<void> {
  await Deno.mkdir(RESULTS, { recursive: true })
  await Deno.writeTextFile(new URL(`${name}.json`, RESULTS), `${JSON.stringify(report, null, 2)}\n`)
  await Deno.writeTextFile(new URL(`${name}.svg`, RESULTS), drawSandbox(report))
  await Deno.writeTextFile(new URL(`${name}.md`, RESULTS), toSandboxPage(report))
  console.log(`\nwritten: ${fromFileUrl(new URL(`${name}.json`, RESULTS))}, ${name}.svg and ${name}.md`)
}
