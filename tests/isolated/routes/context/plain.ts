import type { Context } from '@mayfly/mayfly'

export function GET(ctx: Context): Response {
  return ctx.send.text('plain')
}
