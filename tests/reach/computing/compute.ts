/** Computes for as long as its limits let it, when it is asked to: no request of a warm-up asks for that. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { warmup: [{ path: '/compute' }] }

export function GET(ctx: Context): Response {
  if (ctx.get.query('for') !== 'ever') return ctx.send.text('done')
  for (;;);
}
