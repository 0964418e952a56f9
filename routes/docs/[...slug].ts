import type { Handler } from '@mayfly/mayfly'
import { type Doc, groupDocs, listDocs, renderDoc } from '../_lib/docs.ts'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

/** The slug is looked up in the list, never joined to a path. */
export const GET: Handler = async (ctx) => {
  const { root } = siteOf(ctx)
  const docs = await listDocs(root)
  const at = docs.findIndex(({ slug }) => slug === ctx.get.param('slug'))
  if (at === -1) return ctx.fail(404, 'There is no such document')
  const doc = docs[at]
  return renderPage(ctx, 'docs/page', {
    href: '/docs',
    title: doc.title,
    description: `${doc.path}, from the source of this site`,
    scripts: ['docs.js'],
    previous: toNeighbour(docs[at - 1]),
    next: toNeighbour(docs[at + 1]),
    data: {
      groups: groupDocs(docs),
      current: doc.slug,
      path: doc.path,
      ...await renderDoc(root, doc, docs),
    },
  })
}

function toNeighbour(doc: Doc | undefined) {
  return doc && { href: `/docs/${doc.slug}`, name: doc.title }
}
