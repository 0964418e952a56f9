import type { Context } from '@mayfly/mayfly'

export const isolated = { ephemeral: false, warmup: 0 }

let count = 0

export function GET(ctx: Context): Response {
  return ctx.send.json({ count: ++count })
}
