/** A way through syntax trees. */
import type { AnyNode } from 'acorn'

/** Calls `look` for a node and all below it; the depth of sources is no depth of calls. */
export function visit(root: AnyNode, look: (node: AnyNode) => void): void {
  const open: AnyNode[] = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    look(node)
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) open.push(...value.filter(isNode))
      else if (isNode(value)) open.push(value)
    }
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && typeof (value as AnyNode).type === 'string'
}
