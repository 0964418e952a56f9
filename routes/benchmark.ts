import type { Handler } from '@mayfly/mayfly'
import { readPage } from './_lib/benchmark/page.ts'
import { renderPage } from './_lib/page.ts'
import { siteOf } from './_lib/site.ts'

export const GET: Handler = async (ctx) =>
  renderPage(ctx, 'benchmark', {
    href: '/benchmark',
    title: 'Benchmark',
    description: 'What isolation costs, and what the framework costs: the newest whole run of every kind.',
    data: { reports: await readPage(siteOf(ctx).root) },
  })
