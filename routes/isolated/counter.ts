import type { Context } from '@mayfly/mayfly'

export const isolated = true

let count = 0

/**
 * Always 1: the machine forgets the write with the request.
 * Warm-up requests run before the snapshot, which would keep them.
 */
export function GET(ctx: Context) {
  if (ctx.get.header('x-mayfly-warmup') === undefined) count++
  return ctx.send.json({ count })
}
