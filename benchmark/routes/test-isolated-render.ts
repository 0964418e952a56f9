import type { Awaitable, Context } from '@mayfly/mayfly'
import { ITEMS } from '../work.ts'

/** Options of its own make a program of its own, whose pages no other row copies. */
export const isolated = { timeoutMs: 3000 }

export function GET(ctx: Context): Awaitable<Response> {
  return ctx.render('test-view-each-meta', { items: ITEMS })
}
