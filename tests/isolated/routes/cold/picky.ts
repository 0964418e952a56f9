import type { Context } from '@mayfly/mayfly'

export const isolated = { warmup: [{ path: '/picky?end=no' }, { path: '/picky?end=yes' }] }

let requests = 0

/** Ends its program at one request of its warm-up, and counts the others. */
export function GET(ctx: Context): Response {
  if (ctx.get.query('end') === 'yes') Deno.exit(1)
  return ctx.send.text(`warmed up ${++requests > 100}`)
}
