/** Counts that a pool is started with. */

/** The count. Throws `RangeError` for what is none. */
export function checkCount(value: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= 0xffffffff) return value
  throw new RangeError(
    `Cannot start a pool: ${value} workers, places or MiB, want a positive integer`,
  )
}
