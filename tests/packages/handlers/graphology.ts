import type { Context } from '@mayfly/mayfly'
import { DirectedGraph } from 'graphology'

export const inputs = [
  { json: [['a', 'b'], ['b', 'c'], ['c', 'a'], ['c', 'größe']] },
  { json: Array.from({ length: 150 }, (_, index) => [`n${index}`, `n${(index * 7) % 40}`]) },
]

export async function POST(ctx: Context) {
  const graph = new DirectedGraph()
  for (const [from, to] of await ctx.get.json<string[][]>()) {
    graph.mergeNode(from)
    graph.mergeNode(to)
    if (from !== to) graph.mergeEdge(from, to, { weight: from.length })
  }
  const degrees = graph.mapNodes((node) => [node, graph.inDegree(node), graph.outDegree(node)])
  return ctx.send.json({
    order: graph.order,
    size: graph.size,
    degrees,
    copy: graph.copy().export().edges.length,
  })
}
