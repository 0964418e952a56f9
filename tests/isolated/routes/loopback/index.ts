/** What a slow, emulated machine answers in time too. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 60_000, warmup: 20 }

let count = 0

export function beforeSnapshot(): void {
  count = 0
}

export function GET(ctx: Context): Response {
  const uuid = crypto.randomUUID()
  return ctx.send.json({ count: ++count, random: Math.random(), uuid })
}
