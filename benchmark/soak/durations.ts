/** Durations in buckets a twentieth apart: a million of them in a few kilobytes. */
export class Durations {
  readonly #buckets: number[] = []
  #count = 0
  #most = 0

  get count(): number {
    return this.#count
  }

  /** The longest, in milliseconds. */
  get most(): number {
    return this.#most
  }

  add(ms: number): void {
    const bucket = Math.max(0, Math.round(Math.log(ms * 1000) / STEP))
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
    this.#count++
    this.#most = Math.max(this.#most, ms)
  }

  /** The duration below which a share of them lies, in milliseconds, up to 2.5 % off; 0 of none. */
  quantile(share: number): number {
    let left = share * this.#count
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count ?? 0
      if (left <= 0 && count !== undefined) return Math.exp(bucket * STEP) / 1000
    }
    return 0
  }
}

const STEP = Math.log(1.05)
