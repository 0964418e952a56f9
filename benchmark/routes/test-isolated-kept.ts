import type { Context } from '@mayfly/mayfly'

export const isolated = { ephemeral: false }

export function GET(ctx: Context): Response {
  return ctx.send.json({ hello: 'world!' })
}
