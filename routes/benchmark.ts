import type { Handler } from '@mayfly/mayfly'
import { readReport } from './_lib/benchmark.ts'
import { renderPage } from './_lib/page.ts'
import { siteOf } from './_lib/site.ts'

export const GET: Handler = async (ctx) =>
  renderPage(ctx, 'benchmark', {
    href: '/benchmark',
    title: 'Benchmark',
    description:
      'Measured by deno task bench, in turn with a bare Deno.serve and Hono that give the same answers.',
    data: { report: await readReport(siteOf(ctx).root) },
  })
