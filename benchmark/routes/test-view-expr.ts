import type { Awaitable, Context } from '@mayfly/mayfly'
import { VISITOR } from '../work.ts'

export function GET(ctx: Context): Awaitable<Response> {
  return ctx.render('test-view-expr', { visitor: VISITOR })
}
