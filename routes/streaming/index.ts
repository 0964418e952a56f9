import type { Handler } from '@mayfly/mayfly'
import { delay } from '@std/async'
import { renderPage } from '../_lib/page.ts'

const ROWS = 16
const PAUSE_MS = 140

/** Rows that take their time, as rows of a slow database would. */
async function* slowRows(signal: AbortSignal) {
  const begin = performance.now()
  for (let number = 1; number <= ROWS; number++) {
    await delay(PAUSE_MS, { signal })
    yield { number, ms: Math.round(performance.now() - begin) }
  }
}

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'streaming', {
    href: '/streaming',
    description:
      'You read this line before the server knows the table below. The page is sent while it renders.',
    sources: [
      'routes/streaming/index.ts',
      'views/streaming.dve',
      'routes/streaming/table.ts',
      'views/table.dve',
    ],
    stream: true,
    data: { rows: slowRows(ctx.get.signal()), count: ROWS, pause: PAUSE_MS },
  })
