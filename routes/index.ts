import type { Handler } from '@mayfly/mayfly'
import { readSummary } from './_lib/benchmark/page.ts'
import { sayPhase } from './_lib/isolation.ts'
import { renderPage } from './_lib/page.ts'
import { PLATES } from './_lib/plates.ts'
import { siteOf } from './_lib/site.ts'
import { readSources } from './_lib/source.ts'

export const GET: Handler = async (ctx) => {
  const site = siteOf(ctx)
  const requests = site.feed.recent.filter((entry) => entry.kind === 'request:complete')
  const render = site.feed.renders.get('index')
  return renderPage(ctx, 'index', {
    href: '/',
    title: 'A virtual machine for every request',
    description:
      'Mayfly is a web framework for Deno whose routes can run in a virtual machine that is reset after every request.',
    scripts: ['home.js', 'pair.js'],
    data: {
      plates: PLATES,
      isolation: { phase: site.isolation.phase, text: sayPhase(site.isolation) },
      log: requests.slice(-10).reverse().map(({ status, method, url, ms }) => ({
        status,
        method,
        url,
        ms: (ms ?? 0).toFixed(2),
        tone: toneOf(status ?? 0),
      })),
      requests: site.feed.requests,
      rendered: render === undefined ? '' : render.ms.toFixed(2),
      renders: render?.count ?? 0,
      hatched: new Date(site.startedAt).toISOString(),
      hatchedAt: new Date(site.startedAt).toISOString().slice(11, 16),
      age: ageOf(Date.now() - site.startedAt),
      routes: site.routes().length,
      benchmark: await readSummary(site.root),
      samples: await readSources(site.root, site.sources, [
        'routes/hello/[name].ts',
        'views/hello.dve',
      ]),
    },
  })
}

function ageOf(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0')).join(':')
}

function toneOf(status: number): string {
  return status >= 500 ? 'bad' : status >= 400 ? 'warn' : ''
}
