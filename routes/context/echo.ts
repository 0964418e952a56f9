import type { Handler } from '@mayfly/mayfly'

export const GET: Handler = (ctx) => ctx.send.json({ query: ctx.get.query(), tags: ctx.get.queries('tag') })

/** The body by its Content-Type. Malformed JSON ends here with 400. */
export const POST: Handler = async (ctx) => {
  const body = await ctx.get.body()
  ctx.set.status(201).header('x-wings', '4')
  return ctx.send.json({ body })
}
