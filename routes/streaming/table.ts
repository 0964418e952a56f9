import type { Handler } from '@mayfly/mayfly'

const ROWS = 20_000

function* squares() {
  for (let number = 1; number <= ROWS; number++) yield { number, square: number * number }
}

/** Twenty thousand rows from a generator: the page is never in memory as a whole. */
export const GET: Handler = (ctx) => ctx.render('table', { rows: squares(), count: ROWS }, { stream: true })
