import type { Handler } from '@mayfly/mayfly'
import { LIFECYCLE_KINDS } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

export const GET: Handler = (ctx) => {
  const { feed } = siteOf(ctx)
  return renderPage(ctx, 'events', {
    href: '/events',
    description:
      'Listen to everything, to one kind or to a namespace. Below is what this server has just done.',
    sources: ['routes/_lib/feed.ts', 'routes/events/feed.ts', 'views/events.dve'],
    scripts: ['events.js'],
    data: {
      recent: feed.recent.slice(-40).reverse().map(({ at, kind, text }) => ({
        time: new Date(at).toISOString().slice(11, 23),
        kind,
        text,
      })),
      kinds: LIFECYCLE_KINDS.map((kind) => ({ kind, count: feed.counts.get(kind) ?? 0 })),
      tries: [
        { href: '/no-such-page', why: 'request:error' },
        { href: '/templates', why: 'view:rendered' },
        { href: '/middleware/token', why: 'auth:failed' },
        { href: '/middleware/order?wings=two', why: 'validate:failed' },
      ],
    },
  })
}
