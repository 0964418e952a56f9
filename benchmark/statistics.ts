import type { Load } from './load.ts'
import type { ServerName, Side, Target } from './plan.ts'

/** One timed run. */
export interface Run extends Load {
  readonly round: number
  readonly server: ServerName
  readonly route: string
}

/** A server on a route over all rounds: medians, and the median of the ratios to bare within each round. */
export interface Row {
  readonly server: ServerName
  readonly route: string
  readonly runs: readonly number[]
  readonly requestsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
  readonly toBare: number | undefined
}

/** A ratio over all rounds, and whether it reaches its target. `value` is undefined when a side was not measured. */
export interface Figure extends Target {
  readonly ratios: readonly number[]
  readonly value: number | undefined
  readonly reached: boolean | undefined
}

/** The middle value, or the mean of the two in the middle. Undefined of none. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? sorted[middle]
    : sorted.length === 0
    ? undefined
    : (sorted[middle - 1] + sorted[middle]) / 2
}

/** One row for each server and route that was timed, in the order in which they first were. */
export function toRows(runs: readonly Run[]): Row[] {
  const sides = new Map<string, Side>()
  for (const { server, route } of runs) sides.set(`${route} ${server}`, { server, route })
  return [...sides.values()].map((side) => {
    const own = runs.filter((run) => isOf(run, side))
    const bare = ratios(runs, side, { server: 'bare', route: side.route })
    return {
      ...side,
      runs: own.map(({ requestsPerSecond }) => requestsPerSecond),
      requestsPerSecond: median(own.map(({ requestsPerSecond }) => requestsPerSecond))!,
      p50: median(own.map(({ p50 }) => p50))!,
      p99: median(own.map(({ p99 }) => p99))!,
      failures: own.reduce((sum, { failures }) => sum + failures, 0),
      toBare: median(bare),
    }
  })
}

/** The figures of `targets`: medians of the ratios within each round. A run with failures does not count as reached. */
export function toFigures(runs: readonly Run[], targets: readonly Target[]): Figure[] {
  return targets.map((target) => {
    const found = ratios(runs, target.of, target.to)
    const value = median(found)
    const failed = runs.some((run) => run.failures > 0 && (isOf(run, target.of) || isOf(run, target.to)))
    return {
      ...target,
      ratios: found,
      value,
      reached: value === undefined ? undefined : value >= target.atLeast && !failed,
    }
  })
}

function isOf(run: Run, { server, route }: Side): boolean {
  return run.server === server && run.route === route
}

function ratios(runs: readonly Run[], of: Side, to: Side): number[] {
  const found: number[] = []
  for (const run of runs) {
    if (!isOf(run, of)) continue
    const base = runs.find((other) => other.round === run.round && isOf(other, to))
    if (base !== undefined) found.push(run.requestsPerSecond / base.requestsPerSecond)
  }
  return found
}
