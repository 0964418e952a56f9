import type { Handler } from '@mayfly/mayfly'
import { sayPhase } from '../_lib/isolation.ts'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

export const GET: Handler = (ctx) => {
  const { isolation, neighbour } = siteOf(ctx)
  return renderPage(ctx, 'reach', {
    href: '/reach',
    description:
      'A machine has no network and no neighbour. What its handler reaches, the host does for it, by name.',
    sources: [
      'routes/reach/ask.ts',
      'routes/_lib/reach/neighbour.ts',
      'routes/reach/count.ts',
      'routes/_lib/reach/counter.js',
      'routes/_lib/reach/bindings.ts',
      'routes/reach/clock.ts',
      'routes/_public/reach_clock.js',
    ],
    scripts: ['reach.js', 'reach_clock.js'],
    data: {
      now: new Date().toISOString().slice(11, 19),
      isolation: { phase: isolation.phase, text: sayPhase(isolation) },
      neighbour,
      fetches: [
        ...(neighbour === undefined ? [] : [
          { url: `${neighbour}/time`, why: 'on the list' },
          { url: `${neighbour}/else`, why: 'on the list too; it answers 404' },
        ]),
        { url: 'http://127.0.0.1:22/', why: 'the same address, another port' },
        { url: 'http://0x7f.1/', why: 'loopback, written otherwise' },
        { url: 'http://169.254.169.254/latest/meta-data/', why: 'where clouds keep their keys' },
        { url: 'https://example.com/', why: 'nobody listed it' },
      ].map(({ url, why }) => ({ href: `/reach/ask?url=${encodeURIComponent(url)}`, url, why })),
      counts: [
        { href: '/reach/count', why: 'kept by a program that is not reset' },
        { href: '/isolated/counter', why: 'a variable of the handler: always 1' },
      ],
    },
  })
}
