/**
 * What a tenant may use: requests and machine time a second, and machines at the same time. Both rates are buckets that hold one second's
 * worth: a request takes one token at its start; its machine time is taken at its end, so the bucket may go into debt by what
 * `concurrency` requests used, and the tenant waits until that is paid.
 */
import type { ResolvedSettings } from './settings.ts'

/** The settings that count here. */
export type Rates = Pick<ResolvedSettings, 'concurrency' | 'waiting' | 'cpuMsPerSecond' | 'requestsPerSecond'>

/** Which setting refused a request, and after how many milliseconds it may be asked again. */
export interface Refused {
  readonly by: 'requestsPerSecond' | 'cpuMsPerSecond' | 'waiting'
  readonly limit: number
  readonly retryMs: number
}

/** Milliseconds that a request waits for one of the tenant's machines, at most. */
const WAIT_MS = 5000

interface Waiter {
  readonly enter: (refused: Refused | null) => void
  readonly timer: ReturnType<typeof setTimeout>
}

/** A bucket of a second's worth. */
interface Bucket {
  level: number
  /** When `level` was right. */
  at: number
}

/** One tenant's account. Times are milliseconds of `clock`, which never runs backwards. */
export class Allowance {
  #rates: Rates
  readonly #clock: () => number
  readonly #requests: Bucket
  readonly #cpu: Bucket
  readonly #line = new Set<Waiter>()
  #running = 0

  constructor(rates: Rates, clock: () => number = () => performance.now()) {
    this.#rates = rates
    this.#clock = clock
    const at = clock()
    this.#requests = { level: rates.requestsPerSecond ?? 0, at }
    this.#cpu = { level: rates.cpuMsPerSecond ?? 0, at }
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#line.size
  }

  /** Other settings from now on; what was used stays used. */
  set rates(rates: Rates) {
    this.#refill()
    const former = this.#rates
    this.#rates = rates
    // A rate that was not counted before begins with a full bucket.
    if (former.requestsPerSecond === undefined) this.#requests.level = rates.requestsPerSecond ?? 0
    if (former.cpuMsPerSecond === undefined) this.#cpu.level = rates.cpuMsPerSecond ?? 0
    this.#refill()
    this.#admit()
  }

  /** Takes a request from the rates; null where they allow it. */
  take(): Refused | null {
    const { cpuMsPerSecond, requestsPerSecond } = this.#rates
    this.#refill()
    if (cpuMsPerSecond !== undefined && this.#cpu.level <= 0) {
      const retryMs = (1 - this.#cpu.level) * 1000 / cpuMsPerSecond
      return { by: 'cpuMsPerSecond', limit: cpuMsPerSecond, retryMs }
    }
    if (requestsPerSecond === undefined) return null
    if (this.#requests.level < 1 - 1e-9) {
      const retryMs = (1 - this.#requests.level) * 1000 / requestsPerSecond
      return { by: 'requestsPerSecond', limit: requestsPerSecond, retryMs }
    }
    this.#requests.level--
    return null
  }

  /** Lets a request into a machine at once (null), refuses it, or lets it wait for its turn. Who was let in must {@linkcode leave}. */
  enter(): Refused | null | Promise<Refused | null> {
    const { concurrency, waiting } = this.#rates
    if (this.#running < concurrency) {
      this.#running++
      return null
    }
    if (this.#line.size >= waiting) return { by: 'waiting', limit: waiting, retryMs: 1000 }
    return new Promise((enter) => {
      const timer = setTimeout(() => {
        this.#line.delete(waiter)
        enter({ by: 'waiting', limit: waiting, retryMs: 1000 })
      }, WAIT_MS)
      const waiter: Waiter = { enter, timer }
      this.#line.add(waiter)
    })
  }

  /** Notes machine time. */
  spend(milliseconds: number): void {
    if (this.#rates.cpuMsPerSecond === undefined) return
    this.#refill()
    this.#cpu.level -= milliseconds
  }

  /** A request that was let in is over; the next one takes its place. */
  leave(): void {
    this.#running--
    this.#admit()
  }

  /** Refuses all that wait. */
  close(): void {
    for (const { enter, timer } of this.#line) {
      clearTimeout(timer)
      enter({ by: 'waiting', limit: 0, retryMs: 1000 })
    }
    this.#line.clear()
  }

  #admit(): void {
    for (const waiter of this.#line) {
      if (this.#running >= this.#rates.concurrency) return
      this.#line.delete(waiter)
      clearTimeout(waiter.timer)
      this.#running++
      waiter.enter(null)
    }
  }

  #refill(): void {
    const now = this.#clock()
    fill(this.#requests, this.#rates.requestsPerSecond, now)
    fill(this.#cpu, this.#rates.cpuMsPerSecond, now)
  }
}

function fill(bucket: Bucket, perSecond: number | undefined, now: number): void {
  if (perSecond !== undefined) {
    bucket.level = Math.min(perSecond, bucket.level + (now - bucket.at) * perSecond / 1000)
  }
  bucket.at = now
}
