/** How long a new version waits for a snapshot of its own: one that is soon replaced is not worth its warm-up. */

/** A version that served for so long was there to stay, in milliseconds. */
const SETTLED_MS = 10_000
/** Waits after the first version that was not, and the longest one. */
const FIRST_MS = 1000
const LONGEST_MS = 60_000

/** A version that takes the place of another. */
export interface Succession {
  /** When it did, by `performance.now()`. */
  readonly since: number
  /** Milliseconds from then until it may get a snapshot. */
  readonly waitMs: number
}

/** What a name begins with. */
export function begin(now: number): Succession {
  return { since: now, waitMs: 0 }
}

/** What follows: each version that is replaced soon doubles the wait of the next one. */
export function succeed({ since, waitMs }: Succession, now: number): Succession {
  if (now - since >= Math.max(SETTLED_MS, 2 * waitMs)) return begin(now)
  return { since: now, waitMs: Math.min(Math.max(FIRST_MS, 2 * waitMs), LONGEST_MS) }
}

/** Whether a version may get a snapshot. */
export function mayPromote({ since, waitMs }: Succession, now: number): boolean {
  return now - since >= waitMs
}
