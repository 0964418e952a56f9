import type { Context } from '@mayfly/mayfly'
import { type DefaultTreeAdapterTypes, parse, parseFragment, serialize } from 'parse5'
import { PAGE } from '~/texts.ts'

type Node = DefaultTreeAdapterTypes.Node

export const inputs = [
  { text: PAGE },
  { path: '?fragment=1', text: '<p>eins<p>zwölf<table>verirrt<tr><td>1</table>' },
]

function countNodes(node: Node): number {
  return 1 + ('childNodes' in node ? node.childNodes.reduce((sum, child) => sum + countNodes(child), 0) : 0)
}

export async function POST(ctx: Context) {
  const text = await ctx.get.text()
  const tree = ctx.get.query('fragment') === '1' ? parseFragment(text) : parse(text)
  return ctx.send.html(serialize(tree), { headers: { 'x-nodes': String(countNodes(tree)) } })
}
