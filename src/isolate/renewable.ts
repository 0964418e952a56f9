/**
 * Makes the modules of a bundle renewable. Warm-up requests leave marks in a program's modules (a counter that counted them), and
 * what a request sees shall be fresh. esbuild turns each module into a function that runs once, with its variables hoisted around
 * it; here these functions learn to run again. A second run gives every variable its first value anew, while the functions that
 * V8 has optimised stay, or come from literals whose feedback it kept.
 */
import { fromFileUrl } from '@std/path'
import { ProgramError } from './compiler.ts'

/** Mayfly's own modules, as esbuild names them: they hold the guest's state and are left alone. */
const OWN = fromFileUrl(new URL('../', import.meta.url)).slice(1)

/** Begins the bundle; one line. `__mayflyRenew` makes every module of the application run again when it is next loaded. */
export const RENEW_BANNER =
  'const __mayflyModules = [], __mayflyRenew = () => { for (const renew of __mayflyModules) renew() }, ' +
  '__mayflyKeep = (module, renew) => { if (!Object.getOwnPropertyNames(module)[0].startsWith(' +
  `${JSON.stringify(OWN)})) __mayflyModules.push(() => renew(module)) };`

/** esbuild's helpers, and what each needs to forget. Lines stay where they are, so the source map does too. */
const HELPERS = [
  {
    head: 'var __esm = (fn, res, err) => function __init() {',
    renewable:
      'var __esm = (fn, res, err) => (__mayflyKeep(fn, (first) => { fn = first; res = err = void 0 }), ' +
      'function __init() {',
  },
  {
    head: 'var __commonJS = (cb, mod) => function __require() {',
    renewable:
      'var __commonJS = (cb, mod) => (__mayflyKeep(cb, () => { mod = void 0 }), function __require() {',
  },
]

/** Replaces esbuild's helpers in a bundle. Throws `ProgramError` when this esbuild writes them in another way. */
export function makeRenewable(code: string): string {
  let result = code
  for (const { head, renewable } of HELPERS) {
    const name = head.slice(0, head.indexOf(' ='))
    const start = result.indexOf(`\n${name} =`)
    if (start === -1) continue
    const end = result.indexOf('\n};', start)
    if (!result.startsWith(head, start + 1) || end === -1) {
      throw new ProgramError(
        `bundle isolated handlers: esbuild's helper '${name}' is unknown, want esbuild 0.28`,
        null,
      )
    }
    result = `${result.slice(0, start + 1)}${renewable}${result.slice(start + 1 + head.length, end)}\n});${
      result.slice(end + '\n};'.length)
    }`
  }
  return result
}
