import type { Handler } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'websocket', {
    href: '/websocket',
    description:
      'Say something. The server says it back, and the page tells how long the way there and back took.',
    sources: ['routes/websocket/echo.ts', 'routes/_public/websocket.js', 'views/websocket.dve'],
    scripts: ['websocket.js'],
  })
