import type { Context } from '@mayfly/mayfly'

export function GET(ctx: Context) {
  const name = ctx.get.param('name')
  return ctx.render('hello', { name, hour: new Date().getUTCHours() })
}
