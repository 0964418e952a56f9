import type { Context } from '@mayfly/mayfly'

export const isolated = true

export function GET(ctx: Context): Response {
  return ctx.send.text('fine')
}
