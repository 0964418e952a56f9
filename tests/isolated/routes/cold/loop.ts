import type { Context } from '@mayfly/mayfly'

export const isolated = true

/** Comes to no end in the warm-up. */
export function GET(ctx: Context): Response {
  while (ctx.get.header('x-mayfly-warmup') !== undefined);
  return ctx.send.text('looped')
}
