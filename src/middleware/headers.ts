import { mergeVary, pendingHeaders } from '../context/headers.ts'
import { stateOf } from '../context/internals.ts'
import type { Context } from '../context/types.ts'

/** Sets a header that is known to be valid on whatever response there will be. `name` is lower case. */
export function presetHeader(ctx: Context, name: string, value: string): void {
  pendingHeaders(stateOf(ctx)).single.set(name, value)
}

/** Adds names to the Vary header of whatever response there will be. */
export function presetVary(ctx: Context, names: string): void {
  pendingHeaders(stateOf(ctx)).appended.push(['vary', names])
}

export { mergeVary }

/** True when `value` may stand in a header. */
export function isHeaderValue(value: unknown): value is string {
  if (typeof value !== 'string') return false
  try {
    new Headers([['x', value]])
    return true
  } catch {
    return false
  }
}
