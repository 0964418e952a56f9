/**
 * What isolates of one process call alike, so that they share it: `deno serve --parallel` runs one module in each of them, which opens
 * the same pools in the same order.
 *
 * ```text
 * isolate 1   Router -> vms 2, queue 1024, number 0 --+-- one pool, and each program of it once
 * isolate 2   Router -> vms 2, queue 1024, number 0 --+
 *             Sandbox.open -> vms 2, queue 1024, number 1 ---- another
 * ```
 */
import { hexDigest } from '../../context/hex_digest.ts'
import { DEFAULT_PARKED, type ParkedLimits } from '../machines/machines.ts'

/** A pool's name among the isolates of the process. */
export interface PoolKey {
  readonly text: string
  /** The pool was closed: the next one of this isolate may be called so. */
  release(): void
}

/** Names of the pools that this isolate has. */
const held = new Set<string>()

/** The name of a pool of these sizes; null in a `Worker`, which has no main module to be known by. */
export function takePoolKey(
  workers: number,
  queue: number,
  parked: ParkedLimits = DEFAULT_PARKED,
): PoolKey | null {
  const module = Deno.mainModule as string | undefined
  if (module === undefined) return null
  for (let number = 0;; number++) {
    const { each, all, eachMb, allMb } = parked
    const text = JSON.stringify([module.slice(-1024), workers, queue, each, all, eachMb, allMb, number])
    if (held.has(text)) continue
    held.add(text)
    return { text, release: () => void held.delete(text) }
  }
}

/** A key of what differs in any of `parts`; of as many bytes whatever they are. */
export async function digestKey(pool: string, parts: readonly (string | Uint8Array)[]): Promise<string> {
  return (await Promise.all([pool, ...parts].map((part) => hexDigest(part)))).join(' ')
}
