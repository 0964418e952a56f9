import { csrf, rateLimit } from '@mayfly/mayfly'

const limit = rateLimit({ limit: 30, windowMs: 60_000, message: 'Thirty runs a minute are enough' })
const sameSite = csrf({ token: 'never' })

/** Work is asked for by POST: from pages of this site only, and not without end. */
export default [
  sameSite,
  (ctx, next) => ctx.get.method() === 'POST' ? limit(ctx, next) : next(),
] satisfies import('@mayfly/mayfly').Middleware[]
