import type { Context } from '@mayfly/mayfly'

/** On a base of its own: its environment is another. */
export const isolated = { env: ['MAYFLY_BASE_TEST'], warmup: 20 }

export function GET(ctx: Context) {
  return ctx.send.text(Deno.env.get('MAYFLY_BASE_TEST') ?? '')
}
