import type { Context } from '@mayfly/mayfly'

export const isolated = { warmup: 5 }

throw new Error('the top of the module failed')

export function GET(ctx: Context): Response {
  return ctx.send.text('never')
}
