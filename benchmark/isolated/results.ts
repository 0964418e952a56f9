/** What one `deno task bench --isolated` found. */
import type { Machine } from '../machine.ts'
import { median } from '../statistics.ts'
import type { LoopResult } from './closed_loop.ts'
import type { Way } from './plan.ts'
import type { BootResult, HogResult, MemoryResult, ReloadResult } from './probe.ts'
import type { Times, VmSamples } from './samples.ts'
import type { StartsResult } from './starts.ts'

/** One timed run of a way. */
export interface WayRun extends LoopResult {
  readonly round: number
  readonly route: string
  readonly connections: number
  /** What the machines said; undefined where there are none. */
  readonly samples: VmSamples | undefined
  /** The baseline just before and after; undefined when it could not be taken. */
  readonly baseline: BaselineParts | undefined
}

/** What the baseline is made of, in microseconds. A virtual core is up to 1.4 times slower in one minute than in the next. */
export interface BaselineParts {
  readonly roundTripUs: number
  /** The copy of one page. */
  readonly pageUs: number
}

/** A way with so many connections over all rounds: medians, times in microseconds. */
export interface WayResult {
  readonly name: string
  readonly route: string
  readonly connections: number
  readonly requestsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
  readonly queue: Times | undefined
  readonly run: Times | undefined
  readonly reset: Times | undefined
  /** Run and reset together. */
  readonly vm: Times | undefined
  readonly dirtyPages: number | undefined
}

/** What `mayfly-vm bench --json --baseline` says; times in microseconds. */
export interface BaselineReport {
  readonly baselineUs: number
  readonly roundTrip: Times
  readonly copy: Times
  /** Pages of that copy. */
  readonly copyPages: number
}

/** What `mayfly-vm bench --json` says. More members than these come with it. */
export interface VmReport extends BaselineReport {
  readonly fork: Times
  readonly helloRun: Times
  readonly helloReset: Times
  /** Requests a second of two threads with a machine each. */
  readonly twoThreads: number
  /** The baseline before and after that measurement. */
  readonly twoThreadsBaselineUs: number
  /** Requests a second of a pool with two workers. */
  readonly poolOfTwo: number
}

/** The members of results/soak-clean.json that are read here. */
export interface SoakResult {
  readonly requests: number
  readonly wrong: number
  /** Requests without an answer. */
  readonly lost: number
  /** Resident memory, descriptors, mappings, threads: whether each stayed as it was. */
  readonly trends: readonly { readonly name: string; readonly constant: boolean }[]
}

/** Everything; a part that could not be measured is undefined. */
export interface Results {
  readonly ways: readonly WayResult[]
  /** What the ways are medians of. */
  readonly runs: readonly WayRun[]
  readonly vm: VmReport | undefined
  readonly boot: BootResult | undefined
  readonly memory: MemoryResult | undefined
  /** The same of the core runtime. */
  readonly coreMemory: MemoryResult | undefined
  readonly starts: StartsResult | undefined
  readonly reload: ReloadResult | undefined
  readonly hog: HogResult | undefined
  readonly soak: SoakResult | undefined
}

/** What lies in results/isolated.json. */
export interface IsolatedReport extends Results {
  readonly machine: Machine
  readonly date: string
  readonly command: string
  /** Seconds of a run. */
  readonly seconds: number
  readonly rounds: number
  /** What could not be measured, and why. */
  readonly failures: readonly string[]
}

/** One row for each way and number of connections that was timed. */
export function toWayResults(ways: readonly Way[], runs: readonly WayRun[]): WayResult[] {
  return ways.flatMap(({ name, route, connections }) =>
    connections.flatMap((count) => {
      const own = runs.filter((run) => run.route === route && run.connections === count)
      if (own.length === 0) return []
      const middle = (value: (run: WayRun) => number) => median(own.map(value))!
      const sampled = own.flatMap(({ samples }) => samples ?? [])
      return [{
        name,
        route,
        connections: count,
        requestsPerSecond: middle((run) => run.requestsPerSecond),
        p50: middle((run) => run.p50),
        p99: middle((run) => run.p99),
        failures: own.reduce((sum, { failures }) => sum + failures, 0),
        queue: middleTimes(sampled.map(({ queue }) => queue)),
        run: middleTimes(sampled.map(({ run }) => run)),
        reset: middleTimes(sampled.map(({ reset }) => reset)),
        vm: middleTimes(sampled.map(({ vm }) => vm)),
        dirtyPages: median(sampled.map(({ dirtyPages }) => dirtyPages)),
      }]
    })
  )
}

function middleTimes(all: readonly Times[]): Times | undefined {
  if (all.length === 0) return undefined
  const middle = (name: keyof Times) => median(all.map((times) => times[name]))!
  return { p50: middle('p50'), p90: middle('p90'), p99: middle('p99') }
}

/** The mean of some looks at the baseline; undefined of none. */
export function toBaselineParts(reports: readonly BaselineReport[]): BaselineParts | undefined {
  if (reports.length === 0) return undefined
  const mean = (value: (report: BaselineReport) => number) =>
    reports.reduce((sum, report) => sum + value(report), 0) / reports.length
  return {
    roundTripUs: mean(({ roundTrip }) => roundTrip.p50),
    pageUs: mean(({ copy, copyPages }) => copy.p50 / copyPages),
  }
}

/** A run of the round that is looked at. */
type FindRun = (route: string, connections: number) => WayRun | undefined

/** What `value` is in each round where it is known. */
export function inRounds(
  runs: readonly WayRun[],
  value: (find: FindRun) => number | undefined,
): number[] {
  const rounds = Map.groupBy(runs, ({ round }) => round)
  return [...rounds.values()].flatMap((own) =>
    value((route, connections) =>
      own.find((run) => run.route === route && run.connections === connections)
    ) ?? []
  )
}
