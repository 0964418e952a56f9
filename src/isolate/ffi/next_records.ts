/**
 * What a pool has to tell, at once or when there is something. A wait costs the event loop a hop to another thread, 10 to 20
 * microseconds of CPU time on each side; a look costs one, with a turn of the loop before it, so that sockets and timers have theirs.
 */
import { setImmediate } from 'node:timers'
import type { NativeSymbols } from './symbols.ts'

/** Where records are put. */
export interface Records {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Most of them. */
  readonly most: number
  /** Longest wait, in microseconds. */
  readonly longestUs: number
}

/** Gives how many there are, or the status of an error. `looks`: there were some just now, so more are likely. */
export async function nextRecords(
  symbols: NativeSymbols,
  pool: number,
  { bytes, most, longestUs }: Records,
  looks: boolean,
): Promise<number> {
  if (looks) {
    await new Promise<void>((resolve) => void setImmediate(resolve))
    const count = symbols.mayfly_look(pool, bytes, most, 0)
    if (count !== 0) return count
  }
  return await symbols.mayfly_wait(pool, bytes, most, longestUs)
}
