import type { Handler } from '@mayfly/mayfly'

export const GET: Handler = (ctx) => ctx.send.json({ user: ctx.get.param('id') })

export const PUT: Handler = async (ctx) => {
  const fields = await ctx.get.json()
  return ctx.send.json({ user: ctx.get.param('id'), fields })
}
