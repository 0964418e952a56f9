import type { Handler } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'sse', {
    href: '/sse',
    description: 'An async generator is an event stream. When you leave the page, its loop ends.',
    sources: ['routes/sse/clock.ts', 'routes/_public/sse.js', 'views/sse.dve'],
    scripts: ['sse.js'],
    data: { now: new Date().toISOString().slice(11, 19) },
  })
