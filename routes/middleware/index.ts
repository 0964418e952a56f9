import type { Handler } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'middleware', {
    href: '/middleware',
    description:
      'Functions around functions. Each sees the request on its way in and the real response on its way out.',
    sources: [
      'routes/middleware/limited/_middleware.ts',
      'routes/middleware/token/_middleware.ts',
      'routes/middleware/order/_middleware.ts',
      'routes/middleware/order/index.ts',
      'routes/_site.ts',
      'views/middleware.dve',
    ],
    data: {
      requestId: ctx.state.requestId,
      nonce: ctx.state.nonce,
      tries: [
        { href: '/middleware/limited', why: 'three in ten seconds, then 429' },
        { href: '/middleware/token', why: 'no token: 401' },
        {
          href: '/middleware/token',
          headers: '{"authorization":"Bearer a-day-in-may"}',
          why: 'with the token',
        },
        { href: '/middleware/order?wings=4', why: 'valid' },
        { href: '/middleware/order?wings=two', why: 'invalid: 422' },
      ],
    },
  })
