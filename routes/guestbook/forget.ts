import type { Handler } from '@mayfly/mayfly'

export const POST: Handler = (ctx) => {
  ctx.set.session(null)
  return ctx.send.redirect('/guestbook', 303)
}
