import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 1000, warmup: 5 }

/** Works for `?ms=`. */
export function GET(ctx: Context): Response {
  const end = Date.now() + Number(ctx.get.query('ms') ?? 0)
  while (Date.now() < end);
  return ctx.send.text('done')
}
