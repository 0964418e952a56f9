/** What a pool has counted. */
import type { DenialReason, OutcomeName } from '../machines/completion.ts'

/** Counts since a pool started; times are sums in microseconds, those of resets over the resets that have ended. */
export interface PoolStatistics {
  readonly outcomes: Readonly<Partial<Record<OutcomeName, number>>>
  /** Refused system calls by reason. */
  readonly denials: Readonly<Partial<Record<DenialReason, number>>>
  /** Requests whose log was cut. */
  readonly logsCut: number
  readonly refused: number
  /** Machines made, and machines given up as lost. */
  readonly forks: number
  readonly lost: number
  /** Machines that a waiting request left to another one. */
  readonly emptied: number
  /** Threads that crashed, by a bug of the library's; each cost its machines and the request in hand. */
  readonly crashes: number
  /** Requests in the queue, in machines, and in all not yet taken back. */
  readonly waiting: number
  readonly running: number
  readonly held: number
  /** Requests that wait for the host, and bytes that their machines have for themselves alone. */
  readonly parked: number
  readonly parkedBytes: number
  /** Times that requests were parked, and for how long; messages that they said and were given. */
  readonly parks: number
  readonly parkedUs: number
  readonly said: number
  readonly heard: number
  readonly queueUs: number
  readonly runUs: number
  readonly resetUs: number
  readonly exits: number
  readonly dirtyPages: number
}
