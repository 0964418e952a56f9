import type { Context } from '@mayfly/mayfly'

export const isolated = { runtime: 'core' }

export function GET(ctx: Context): Response {
  return ctx.send.json({ hello: 'world!' })
}
