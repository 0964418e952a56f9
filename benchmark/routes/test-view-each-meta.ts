import type { Awaitable, Context } from '@mayfly/mayfly'
import { ITEMS } from '../work.ts'

export function GET(ctx: Context): Awaitable<Response> {
  return ctx.render('test-view-each-meta', { items: ITEMS })
}
