/** One timer for the whole pool, set only while somebody waits. */
import type { PoolState } from './state.ts'

/** Makes sure that the pool looks at its workers at `time` (by `performance.now()`) or earlier. */
export function watchBy(pool: PoolState, time: number): void {
  if (time >= pool.timerAt || pool.closed) return
  if (pool.timer !== undefined) clearTimeout(pool.timer)
  pool.timerAt = time
  const timer = setTimeout(pool.onTimer, Math.max(1, Math.ceil(time - performance.now())))
  // The workers keep the process alive, not this.
  Deno.unrefTimer(timer)
  pool.timer = timer
}

/** Clears the timer. */
export function stopWatching(pool: PoolState): void {
  if (pool.timer !== undefined) clearTimeout(pool.timer)
  pool.timer = undefined
  pool.timerAt = Infinity
}
