/** Timers and microtasks. https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#timers */
import { host } from './host.ts'
import { need } from './webidl.ts'

export function setTimeout(callback: unknown, delay?: unknown, ...args: unknown[]): number {
  need(arguments.length, 1, 'setTimeout')
  return start('setTimeout', callback, delay, args, false)
}

export function setInterval(callback: unknown, delay?: unknown, ...args: unknown[]): number {
  need(arguments.length, 1, 'setInterval')
  return start('setInterval', callback, delay, args, true)
}

/** Of Node, and global in Deno: runs after what is under way. */
export function setImmediate(callback: unknown, ...args: unknown[]): number {
  need(arguments.length, 1, 'setImmediate')
  return start('setImmediate', callback, 0, args, false)
}

export function clearImmediate(id?: unknown): void {
  host.stopTimer(Number(id) | 0)
}

export function clearTimeout(id?: unknown): void {
  host.stopTimer(Number(id) | 0)
}

export function clearInterval(id?: unknown): void {
  host.stopTimer(Number(id) | 0)
}

export function queueMicrotask(callback: unknown): void {
  need(arguments.length, 1, 'queueMicrotask')
  host.microtask(toFunction('queueMicrotask', callback) as () => void)
}

function start(name: string, callback: unknown, delay: unknown, args: unknown[], repeat: boolean): number {
  const run = toFunction(name, callback)
  // `long`: what is over 31 bits wraps, as in every engine.
  const ms = Math.max(Number(delay) | 0, 0)
  return host.startTimer(
    () => {
      run.apply(globalThis, args)
    },
    ms,
    repeat,
  )
}

/** Text as code is refused: nothing here evaluates any. */
function toFunction(name: string, callback: unknown): (...args: unknown[]) => unknown {
  if (typeof callback === 'function') return callback as (...args: unknown[]) => unknown
  throw new TypeError(`Cannot call ${name}: the callback is ${typeof callback}, want a function`)
}
