import type { Handler } from '@mayfly/mayfly'
import { sayPhase } from '../_lib/isolation.ts'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

export const GET: Handler = (ctx) => {
  const { isolation } = siteOf(ctx)
  return renderPage(ctx, 'isolated', {
    href: '/isolated',
    description:
      'A handler runs in a virtual machine, and after every request Mayfly puts the machine back to its snapshot.',
    sources: [
      'routes/isolated/counter.ts',
      'routes/isolated/limits.ts',
      'routes/isolated/random.ts',
      'routes/isolated/here.ts',
      'routes/_lib/isolation.ts',
      'views/isolated.dve',
    ],
    scripts: ['pair.js', 'isolated.js'],
    data: {
      isolation: { phase: isolation.phase, text: sayPhase(isolation) },
      runs: isolation.runs.toReversed(),
      calls: [
        { href: '/isolated/counter', why: 'in a machine: always 1' },
        { href: '/isolated/here', why: 'in this process: it counts on' },
        { href: '/isolated/random', why: 'random numbers are fresh' },
        { href: '/isolated/limits?try=loop', why: 'too long: 504' },
        { href: '/isolated/limits?try=memory', why: 'too much memory: 507' },
        { href: '/isolated/limits?try=output', why: 'too long an answer: 502' },
        { href: '/isolated/limits?try=exit', why: 'ends its program: 502' },
        { href: '/isolated/limits?try=throw', why: 'an error like any other: 500' },
        { href: '/isolated/limits', why: 'the next request finds a clean machine' },
      ],
    },
  })
}
