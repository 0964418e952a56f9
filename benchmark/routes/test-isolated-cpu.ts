import type { Context } from '@mayfly/mayfly'

export const isolated = true

export function GET(ctx: Context): Response {
  let value = 0
  for (let i = 0; i < 50_000; i++) value += Math.sqrt(i)
  return ctx.send.json({ value })
}
