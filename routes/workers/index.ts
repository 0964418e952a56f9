import type { Handler } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'workers', {
    href: '/workers',
    description:
      'The same sums, in the pool and on the main thread. While they run, the page asks for a ping again and again.',
    sources: [
      'routes/workers/pool.ts',
      'routes/_workers/cpu.ts',
      'routes/_lib/cpu.ts',
      'routes/workers/main.ts',
      'routes/workers/ping.ts',
      'views/workers.dve',
    ],
    scripts: ['workers.js'],
  })
