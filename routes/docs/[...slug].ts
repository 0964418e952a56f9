import type { Handler } from '@mayfly/mayfly'
import { groupDocs, listDocs, renderDoc } from '../_lib/docs.ts'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

/** The slug is looked up in the list, never joined to a path. */
export const GET: Handler = async (ctx) => {
  const { root } = siteOf(ctx)
  const docs = await listDocs(root)
  const doc = docs.find(({ slug }) => slug === ctx.get.param('slug'))
  if (doc === undefined) return ctx.fail(404, 'There is no such document')
  return renderPage(ctx, 'docs/page', {
    href: '/docs',
    title: doc.title,
    description: `${doc.path}, from the source of this site`,
    data: {
      groups: groupDocs(docs),
      current: doc.slug,
      path: doc.path,
      html: await renderDoc(root, doc, docs),
    },
  })
}
