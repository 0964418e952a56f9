/**
 * Whether the program has used timers: while it waits for the host, they must fire. Timers of the runtime's own are not seen; they end by
 * themselves, and the program waits then.
 */

let used = false
let told: () => void = () => {}

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
    for (const name of ['setTimeout', 'setInterval']) {
      const own = target[name] as (...args: unknown[]) => unknown
      Object.defineProperty(target, name, {
        value: Object.defineProperties((...args: unknown[]) => {
          noticeTimer()
          return own(...args)
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

/** A timer is made. */
export function noticeTimer(): void {
  used = true
  told()
}
