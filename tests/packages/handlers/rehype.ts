import type { Context } from '@mayfly/mayfly'
import rehypeParse from 'rehype-parse'
import rehypeStringify from 'rehype-stringify'
import { unified } from 'unified'
import { PAGE } from '~/texts.ts'

interface Node {
  type: string
  tagName?: string
  properties?: Record<string, unknown>
  children?: Node[]
}

export const inputs = [
  { text: PAGE },
  { text: '<p>unclosed <a href=/x>link<ul><li>eins<li>zwölf' },
]

/** Gives every link `rel=nofollow`, and tells how many there are. */
function nofollow() {
  return (tree: Node) => {
    const visit = (node: Node) => {
      if (node.tagName === 'a') node.properties!.rel = ['nofollow']
      node.children?.forEach(visit)
    }
    visit(tree)
  }
}

export async function POST(ctx: Context) {
  const file = await unified().use(rehypeParse, { fragment: true }).use(
    nofollow,
  ).use(rehypeStringify)
    .process(await ctx.get.text())
  return ctx.send.html(String(file))
}
