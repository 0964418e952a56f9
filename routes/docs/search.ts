import type { Handler } from '@mayfly/mayfly'
import { listDocs } from '../_lib/docs.ts'
import { searchDocs } from '../_lib/docs_search.ts'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

const MOST_CHARACTERS = 100

export const GET: Handler = async (ctx) => {
  const { root } = siteOf(ctx)
  const query = (ctx.get.query('q') ?? '').slice(0, MOST_CHARACTERS)
  return renderPage(ctx, 'docs/search', {
    href: '/docs',
    title: 'Search the docs',
    description: 'Sections of the documents that have all the words.',
    data: { query, hits: await searchDocs(root, await listDocs(root), query) },
  })
}
