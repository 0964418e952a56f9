import type { Context } from '@mayfly/mayfly'

export const isolated = true

let requests = 0

export function GET(ctx: Context): Response {
  return ctx.send.json({ requests: ++requests })
}
