import type { Awaitable, Context } from '@mayfly/mayfly'
import { NAME } from '../work.ts'

export function GET(ctx: Context): Awaitable<Response> {
  return ctx.render('test-view-include', { name: NAME })
}
