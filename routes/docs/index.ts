import type { Handler } from '@mayfly/mayfly'
import { groupDocs, listDocs } from '../_lib/docs.ts'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

export const GET: Handler = async (ctx) =>
  renderPage(ctx, 'docs/index', {
    href: '/docs',
    title: 'Docs',
    description: 'The pages that live beside the code, read from disk as they are.',
    data: { groups: groupDocs(await listDocs(siteOf(ctx).root)), current: '' },
  })
