/** Finds out as it loads that there is no `Intl`, and goes on without. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 10_000, warmup: 0 }

let format = String as (value: number) => string

try {
  format = new Intl.NumberFormat('de').format
} catch {
  // As it is.
}

export function GET(ctx: Context): Response {
  return ctx.send.text(format(1234.5))
}
