/** Collects keys and hands them over when they stop coming. */
export interface Debounce {
  readonly keys: Set<string>
  readonly waitMs: number
  readonly run: (keys: Set<string>) => Promise<void>
  timer: ReturnType<typeof setTimeout> | null
  /** When the oldest key came, in milliseconds of `performance.now()`. */
  since: number
  running: Promise<void> | null
  closed: boolean
}

/** Keys that keep coming are handed over after so many waits at the latest. */
const LONGEST_WAITS = 4

/** Makes a debounce that calls `run` with the keys of each burst, never twice at a time. `run` must not throw. */
export function createDebounce(waitMs: number, run: (keys: Set<string>) => Promise<void>): Debounce {
  return { keys: new Set(), waitMs, run, timer: null, since: 0, running: null, closed: false }
}

/** Adds keys and puts off the call, within bounds. */
export function push(debounce: Debounce, keys: Iterable<string>): void {
  if (debounce.closed) return
  if (debounce.keys.size === 0) debounce.since = performance.now()
  for (const key of keys) debounce.keys.add(key)
  arm(debounce)
}

function arm(debounce: Debounce): void {
  if (debounce.running !== null || debounce.keys.size === 0 || debounce.closed) return
  if (debounce.timer !== null) clearTimeout(debounce.timer)
  const latest = debounce.since + LONGEST_WAITS * debounce.waitMs - performance.now()
  debounce.timer = setTimeout(() => fire(debounce), Math.max(0, Math.min(debounce.waitMs, latest)))
}

function fire(debounce: Debounce): void {
  debounce.timer = null
  const keys = new Set(debounce.keys)
  debounce.keys.clear()
  debounce.running = debounce.run(keys).finally(() => {
    debounce.running = null
    debounce.since = performance.now()
    arm(debounce)
  })
}

/** Drops what waits and resolves when a call in progress has ended. */
export async function closeDebounce(debounce: Debounce): Promise<void> {
  debounce.closed = true
  if (debounce.timer !== null) clearTimeout(debounce.timer)
  debounce.timer = null
  debounce.keys.clear()
  await debounce.running
}
