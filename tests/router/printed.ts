/** The route table and the tree of patterns as text, for golden tests. */
import type { RouteRow } from '../../src/router/load/table.ts'
import type { Leaf, Node, Tree } from '../../src/router/match/tree.ts'

/** The table as text, one row a line, columns aligned. */
export function formatRows(rows: readonly RouteRow[]): string {
  const method = Math.max(6, ...rows.map((row) => row.method.length))
  const pattern = Math.max(7, ...rows.map((row) => row.pattern.length))
  return rows.map((row) =>
    `${row.method.padEnd(method)}  ${row.pattern.padEnd(pattern)}  ${row.file}${
      row.isolated ? '  isolated' : ''
    }\n`
  ).join('')
}

/** A tree as text: fixed paths, then one line a node in the order of precedence. */
export function formatTree<T>(tree: Tree<T>): string {
  const lines: string[] = []
  for (const path of [...tree.statics.keys()].sort()) {
    lines.push(`${path}${leafText(tree.statics.get(path)!)}`)
  }
  printNode(tree.root, '', '', lines)
  return lines.map((line) => line + '\n').join('')
}

function printNode<T>(node: Node<T>, text: string, indent: string, lines: string[]): void {
  if (text !== '') lines.push(`${indent}/${text}${node.leaf === null ? '' : leafText(node.leaf)}`)
  const inner = text === '' ? indent : indent + '  '
  const literals = [...(node.literals ?? [])].sort(([a], [b]) => order(a, b))
  for (const [name, child] of literals) printNode(child, name, inner, lines)
  for (const group of node.mixed ?? []) {
    const children = [...group.byText].sort(([a], [b]) => order(a, b))
    for (const [name, child] of children) printNode(child, name.replace('/', '[]'), inner, lines)
  }
  if (node.parameter !== null) printNode(node.parameter, '[]', inner, lines)
  if (node.catchAll !== null) lines.push(`${inner}/[...]${leafText(node.catchAll)}`)
}

function leafText<T>(leaf: Leaf<T>): string {
  const names = leaf.names.length === 0 ? '' : ` (${leaf.names.join(', ')})`
  return `${names} ${[...leaf.inserted].sort().join(' ')}`
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
