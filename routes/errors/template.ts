import type { Handler } from '@mayfly/mayfly'

/** The loop in this view is longer than any loop may be. */
export const GET: Handler = (ctx) => ctx.render('errors/broken', { days: { length: 1 }, endless: endless() })

function* endless() {
  for (let day = 1;; day++) yield day
}
