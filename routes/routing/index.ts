import type { Handler } from '@mayfly/mayfly'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'routing', {
    href: '/routing',
    description: 'The folder is the route table. Press a request and read what matched.',
    sources: [
      'routes/routing/users/[id].ts',
      'routes/routing/files/[...path].ts',
      'routes/routing/greet/[[name]].ts',
      'routes/routing/user-[id].ts',
      'routes/routing/(shop)/cart.ts',
      'routes/routing/index.ts',
      'views/routing.dve',
    ],
    data: {
      tries: [
        { href: '/routing/users/42', why: 'a parameter' },
        { href: '/routing/users/a%2Fb', why: 'an encoded slash stays inside' },
        { href: '/routing/files/src/app/router.ts', why: 'a catch-all' },
        { href: '/routing/greet', why: 'optional, left out' },
        { href: '/routing/greet/Ephemera', why: 'optional, given' },
        { href: '/routing/user-7', why: 'a parameter after text' },
        { href: '/routing/cart', why: 'a (group) is not in the URL' },
        { href: '/routing/users/42', method: 'DELETE', why: 'a method the file lacks' },
        { href: '/routing/users/42', method: 'OPTIONS', why: 'answered for you' },
        { href: '/routing/users/%zz', why: 'a broken escape' },
      ],
      table: siteOf(ctx).routes().filter((row) => row.pattern.startsWith('/routing')),
      total: siteOf(ctx).routes().length,
    },
  })
