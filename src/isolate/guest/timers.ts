/**
 * The timers of the program. Whether it has used any: while it waits for the host, they must fire. And which ones the warm-up made: none of
 * them fires in a request. Timers of the runtime's own are not seen; they end by themselves, and the program waits then.
 */

/** Milliseconds for which the program waits after its warm-up. Waiting takes no time in a machine. */
const REST_MS = 60_000
/** Real time that one step of that wait may take; it is over when one took longer. */
const STEP_MS = 100

/** Ends a timer, also one that has fired. */
type End = () => void

const { setTimeout } = globalThis
let used = false
let told: () => void = () => {}
/** Of the timers that the warm-up made, while it goes on; and whether the modules had made any. */
let warmUp: { readonly ends: End[]; readonly used: boolean } | null = null

/** Whether a timer was made, in the modules of the program or in this request. */
export function hasTimers(): boolean {
  return used
}

/** Sets what is called when a timer is made. */
export function onTimer(callback: () => void): void {
  told = callback
}

/** Puts functions that notice timers in the place of the runtime's: those of the Web, and of `node:timers`. */
export function watchTimers(node: Record<string, unknown>): void {
  const { AbortSignal } = globalThis
  for (const target of [globalThis as unknown as Record<string, unknown>, node]) {
    for (const [name, clear] of [['setTimeout', 'clearTimeout'], ['setInterval', 'clearInterval']]) {
      const own = target[name] as (...args: unknown[]) => unknown
      const end = target[clear] as (timer: unknown) => void
      Object.defineProperty(target, name, {
        value: Object.defineProperties((...args: unknown[]) => {
          const timer = own(...args)
          noticeTimer(() => end(timer))
          return timer
        }, Object.getOwnPropertyDescriptors(own)),
        writable: true,
        configurable: true,
        enumerable: true,
      })
    }
  }
  const { timeout } = AbortSignal
  AbortSignal.timeout = (ms) => {
    noticeTimer()
    return timeout.call(AbortSignal, ms)
  }
}

/** A timer is made. `end` ends it, where somebody can. */
export function noticeTimer(end?: End): void {
  used = true
  if (end !== undefined) warmUp?.ends.push(end)
  told()
}

/** The modules have run: what is made from now on is the warm-up's. */
export function beginWarmUp(): void {
  warmUp = { ends: [], used }
}

/**
 * The warm-up is over: its timers fire now, as in a program that rests for a minute, so that whoever waits for one (a batch that is sent
 * later, a cache entry that ends) finds it fired. Then those that are left end: each request would run them again.
 */
export async function endWarmUp(): Promise<void> {
  if (warmUp === null) return
  if (warmUp.ends.length > 0) await rest()
  for (const end of warmUp.ends) end()
  used = warmUp.used
  warmUp = null
}

/** In ever longer steps, as timers that make timers may be many. */
async function rest(): Promise<void> {
  for (let ms = 1, rested = 0; rested < REST_MS; rested += ms, ms *= 2) {
    const begin = Date.now()
    await new Promise((resolve) => setTimeout(resolve, ms))
    if (Date.now() - begin > STEP_MS) return
  }
}
