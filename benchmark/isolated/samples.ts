/** What the machines of a server say of each request, kept without disturbing it. Times are microseconds. */
import type { Router } from '@mayfly/mayfly'

/** Quantiles of times in microseconds. */
export interface Times {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** Requests since the last look. */
export interface VmSamples {
  readonly requests: number
  readonly queue: Times
  readonly run: Times
  readonly reset: Times
  /** Run and reset of the same request: from entering the machine until it is clean again. */
  readonly vm: Times
  /** Medians. */
  readonly dirtyPages: number
  readonly exits: number
  /** Programs whose warm-up ended before their requests were as fast as they become. */
  readonly unsettled: number
}

const CAPACITY = 1 << 18
const FIELDS = 5

/** Keeps the last requests of a router; the returned function gives them and begins anew. */
export function keepSamples(router: Router): () => VmSamples {
  const kept = new Float64Array(CAPACITY * FIELDS)
  let count = 0
  let unsettled = 0
  router.on('isolate:ready', ({ metadata }) => {
    if (metadata.settled === false) unsettled++
  })
  router.on('isolate:complete', ({ metadata }) => {
    const at = (count++ % CAPACITY) * FIELDS
    kept[at] = metadata.queueMicros ?? 0
    kept[at + 1] = metadata.runMicros ?? 0
    kept[at + 2] = metadata.resetMicros ?? 0
    kept[at + 3] = metadata.dirtyPages ?? 0
    kept[at + 4] = metadata.exits ?? 0
  })
  return () => {
    const rows = Math.min(count, CAPACITY)
    const column = (value: (at: number) => number) =>
      Float64Array.from({ length: rows }, (_, row) => value(row * FIELDS))
    const samples: VmSamples = {
      requests: count,
      queue: toTimes(column((at) => kept[at])),
      run: toTimes(column((at) => kept[at + 1])),
      reset: toTimes(column((at) => kept[at + 2])),
      vm: toTimes(column((at) => kept[at + 1] + kept[at + 2])),
      dirtyPages: toTimes(column((at) => kept[at + 3])).p50,
      exits: toTimes(column((at) => kept[at + 4])).p50,
      unsettled,
    }
    count = 0
    return samples
  }
}

/** Quantiles; all 0 of nothing. Sorts `values` in place. */
export function toTimes(values: Float64Array): Times {
  values.sort()
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}
