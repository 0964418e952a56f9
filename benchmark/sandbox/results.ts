/** What one `deno task bench --sandbox` found. */
import type { IsolateRuntime } from '@mayfly/mayfly'
import type { Machine } from '../machine.ts'
import { median } from '../statistics.ts'
import type { LoadResult } from './load.ts'
import { BASELINE, type SandboxWay, type Through } from './plan.ts'
import type { PromotionSide, PromotionTurn } from './promotion.ts'
import type { VmTurn } from './vm.ts'

/** One timed run of a way. Latencies are microseconds. */
export interface SandboxRun extends LoadResult {
  readonly round: number
  readonly way: string
  readonly through: Through
  readonly connections: number
}

/** A way, asked in one manner, over all rounds: medians. Times are microseconds. */
export interface SandboxRow {
  readonly way: string
  readonly name: string
  readonly through: Through
  readonly connections: number
  readonly requestsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
  /** Requests of a run, and the resident memory after them. */
  readonly requests: number
  readonly residentBytes: number
  /** The p50 to that of workerd's `load()` over HTTP with as many connections, by the median of the rounds' ratios. */
  readonly p50ToLoad: number | undefined
  /** Requests a second, likewise. */
  readonly rateToLoad: number | undefined
}

/** Turns of a warm program and of an isolated route that does the same. */
export interface VmRun {
  readonly runtime: IsolateRuntime
  readonly turns: readonly VmTurn[]
}

/** Turns with a promotion and without. */
export interface PromotionRun {
  readonly runtime: IsolateRuntime
  readonly turns: readonly PromotionTurn[]
}

/** A ratio that must hold, or a time in milliseconds. */
export interface SandboxFigure {
  readonly name: string
  /** The median of the rounds' ratios; undefined where a side was not measured. */
  readonly seen: number | undefined
  readonly bound: 'at most' | 'at least'
  readonly wanted: number
  /** A run with a failed request reaches nothing. */
  readonly reached: boolean | undefined
}

/** What lies in results/sandbox.json. */
export interface SandboxReport {
  readonly machine: Machine
  readonly date: string
  readonly command: string
  /** Those that were there, as they say themselves. */
  readonly peers: readonly string[]
  /** Of the machine in a minute before each run, the median: what else it did tells in it. */
  readonly loadAverage: number
  /** Seconds of a run. */
  readonly seconds: number
  readonly rounds: number
  readonly rows: readonly SandboxRow[]
  readonly figures: readonly SandboxFigure[]
  readonly runs: readonly SandboxRun[]
  readonly vmRuns: readonly VmRun[]
  readonly promotionRuns: readonly PromotionRun[]
  /** What was not measured, and why. */
  readonly skipped: readonly string[]
}

/** Which runs: over HTTP where nothing else is said. */
interface Side {
  readonly way: string
  readonly connections: number
  readonly through?: Through
}

/** VM time of a warm program to that of an isolated route that does the same. */
const VM_MOST = 1.15
/** Milliseconds by which a promotion may delay a call. */
const DELAY_MOST = 5

/** One row for each manner in which a way was asked. */
export function toSandboxRows(ways: readonly SandboxWay[], runs: readonly SandboxRun[]): SandboxRow[] {
  const known = Map.groupBy(runs, ({ way, through, connections }) => `${way} ${through} ${connections}`)
  const byPlan = [...known.values()].toSorted(([a], [b]) => placeOf(ways, a) - placeOf(ways, b))
  return byPlan.map((own) => {
    const { way, through, connections } = own[0]
    const middle = (value: (run: SandboxRun) => number) => median(own.map(value))!
    const side = { way, through, connections }
    const base = { way: BASELINE, connections }
    return {
      ...side,
      name: ways.find(({ id }) => id === way)!.name,
      requestsPerSecond: middle((run) => run.requestsPerSecond),
      p50: middle(({ p50 }) => p50),
      p99: middle(({ p99 }) => p99),
      failures: own.reduce((sum, { failures }) => sum + failures, 0),
      requests: middle(({ requests }) => requests),
      residentBytes: middle(({ residentBytes }) => residentBytes),
      p50ToLoad: median(ratios(runs, side, base, ({ p50 }) => p50)),
      rateToLoad: median(ratios(runs, side, base, ({ requestsPerSecond }) => requestsPerSecond)),
    }
  })
}

function placeOf(ways: readonly SandboxWay[], { way, through, connections }: SandboxRun): number {
  const place = ways.findIndex(({ id }) => id === way)
  return place * 1000 + (through === 'http' ? 0 : 500) + connections
}

/** What must hold of `run` beside workerd's `load()`, both over HTTP, and of a warm program beside an isolated route. */
export function toSandboxFigures(
  runs: readonly SandboxRun[],
  vmRuns: readonly VmRun[] = [],
  promotionRuns: readonly PromotionRun[] = [],
): SandboxFigure[] {
  const p50 = (name: string, way: string, wanted: number) =>
    judge(runs, name, { way, connections: 1 }, ({ p50 }) => p50, 'at most', wanted)
  return [
    p50('p50 of run to load(), one connection', 'run', 1 / 10),
    p50('p50 of run to load(), one connection, core', 'run-core', 1 / 15),
    judge(
      runs,
      'requests a second of run to load(), eight connections',
      { way: 'run', connections: 8 },
      ({ requestsPerSecond }) => requestsPerSecond,
      'at least',
      15,
    ),
    judgeVm(vmRuns, 'VM time of get, warm, to an isolated route', 'deno'),
    judgeVm(vmRuns, 'VM time of get, warm, to an isolated route, core', 'core'),
    ...(['deno', 'core'] as const).flatMap((runtime) => {
      const name = `ms by which a promotion delays the longest call${runtime === 'core' ? ', core' : ''}`
      return [
        judgePromotions(promotionRuns, `${name}, of the host's CPU time`, runtime, ({ cpuMost }) => cpuMost),
        judgePromotions(promotionRuns, `${name}, by the clock`, runtime, ({ most }) => most),
      ]
    }),
  ]
}

/** The longest call of a time with a promotion less that of as long a time without, the median of the turns. */
function judgePromotions(
  promotionRuns: readonly PromotionRun[],
  name: string,
  runtime: IsolateRuntime,
  longest: (side: PromotionSide) => number,
): SandboxFigure {
  const turns = promotionRuns.filter((run) => run.runtime === runtime).flatMap(({ turns }) => turns)
  const seen = median(turns.map(({ quiet, promoting }) => longest(promoting) - longest(quiet)))
  const holds = seen !== undefined && seen <= DELAY_MOST && turns.every(({ failures }) => failures === 0)
  return { name, seen, bound: 'at most', wanted: DELAY_MOST, reached: seen === undefined ? undefined : holds }
}

function judgeVm(vmRuns: readonly VmRun[], name: string, runtime: IsolateRuntime): SandboxFigure {
  const turns = vmRuns.filter((run) => run.runtime === runtime).flatMap(({ turns }) => turns)
  const seen = median(turns.map(({ routeUs, getUs }) => getUs / routeUs))
  const reached = seen === undefined ? undefined : seen <= VM_MOST
  return { name, seen, bound: 'at most', wanted: VM_MOST, reached }
}

function judge(
  runs: readonly SandboxRun[],
  name: string,
  of: Side,
  value: (run: SandboxRun) => number,
  bound: SandboxFigure['bound'],
  wanted: number,
): SandboxFigure {
  const to = { way: BASELINE, connections: of.connections }
  const seen = median(ratios(runs, of, to, value))
  const failed = runs.some((run) => run.failures > 0 && (isOf(run, of) || isOf(run, to)))
  const holds = seen !== undefined && (bound === 'at most' ? seen <= wanted : seen >= wanted)
  return { name, seen, bound, wanted, reached: seen === undefined ? undefined : holds && !failed }
}

/** `value` of one side to that of the other, in each round that has both. */
function ratios(
  runs: readonly SandboxRun[],
  of: Side,
  to: Side,
  value: (run: SandboxRun) => number,
): number[] {
  return runs.filter((run) => isOf(run, of)).flatMap((run) => {
    const base = runs.find((other) => other.round === run.round && isOf(other, to))
    return base === undefined || base.requests === 0 || run.requests === 0 ? [] : [value(run) / value(base)]
  })
}

function isOf(run: SandboxRun, { way, connections, through = 'http' }: Side): boolean {
  return run.way === way && run.connections === connections && run.through === through
}
