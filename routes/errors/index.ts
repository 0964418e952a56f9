import type { Handler } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

const JSON_FIRST = '{"accept":"application/json"}'
const PAGE_FIRST = '{"accept":"text/html"}'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'errors', {
    href: '/errors',
    description:
      'One error, two readers: a page for a person, a problem document for a program. Secrets stay in the process.',
    sources: [
      'routes/_lib/error_page.ts',
      'routes/errors/teapot.ts',
      'routes/errors/crash.ts',
      'views/error.dve',
      'views/errors/broken.dve',
    ],
    data: {
      production: siteOf(ctx).production,
      tries: [
        { href: '/errors/teapot', headers: JSON_FIRST, why: 'ctx.fail, to a program' },
        { href: '/errors/teapot', headers: PAGE_FIRST, why: 'the same, to a browser' },
        { href: '/errors/crash', headers: JSON_FIRST, why: 'an unexpected error' },
        { href: '/errors/crash', headers: PAGE_FIRST, why: 'the same, to a browser' },
        { href: '/errors/template', headers: PAGE_FIRST, why: 'a view that fails' },
        { href: '/errors/nowhere', headers: JSON_FIRST, why: 'no such route' },
      ],
    },
  })
