import type { Middleware } from '@mayfly/mayfly'

/** What the host knows goes in as state, and comes back. */
const around: Middleware = async (ctx, next) => {
  ctx.state.from = 'the host'
  const response = await next()
  response.headers.set('x-state', JSON.stringify(ctx.state.back ?? null))
  return response
}

export default around
