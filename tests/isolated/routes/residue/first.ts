import type { Context } from '@mayfly/mayfly'

export const isolated = true

let first: string | undefined

/** Everybody meets what the first request of the warm-up asked for. */
export function GET(ctx: Context): Response {
  first ??= ctx.get.query('id')
  return ctx.send.json({ first })
}
