/** How finely a handler can read its clocks. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 10_000, coarseClockUs: 2000, warmup: 5 }

/** Steps between readings that differ, in microseconds, after two dozen such steps. */
export function GET(ctx: Context): Response {
  const steps: number[] = []
  const dates = new Set<number>()
  for (let last = performance.now(); steps.length < 24;) {
    const now = performance.now()
    if (now !== last) steps.push(Math.round((now - last) * 1000))
    last = now
    dates.add(Date.now())
  }
  return ctx.send.json({ steps, dates: [...dates] })
}
