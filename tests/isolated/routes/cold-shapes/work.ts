import type { Context } from '@mayfly/mayfly'

export const isolated = { warmup: [{ path: '/work?n=1' }] }

/** Works as long as it is told to. */
export function GET(ctx: Context): Response {
  let value = 0
  for (let i = Number(ctx.get.query('rounds') ?? 0); i > 0; i--) value = (value * 31 + i) % 1_000_003
  return ctx.send.text(String(value))
}
