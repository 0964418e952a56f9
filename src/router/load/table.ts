import { ANY_METHOD } from '../match/methods.ts'
import type { LoadedRoute } from './load.ts'
import type { Leaf, Node, Tree } from '../match/tree.ts'

/** One line of the route table. */
export interface RouteRow {
  /** A method, or `*` for a route that takes them all. */
  readonly method: string
  readonly pattern: string
  readonly file: string
  readonly isolated: boolean
}

/** One row for each method of each route, sorted by pattern, then method. */
export function routeRows(routes: readonly LoadedRoute[]): RouteRow[] {
  const rows = routes.flatMap(({ methods, mount, error, pattern, file, isolated }) => {
    const names: string[] = mount || error !== null ? [...methods, ANY_METHOD] : [...methods]
    return names.map((method) => ({ method, pattern, file, isolated }))
  })
  return rows.sort((a, b) => order(a.pattern, b.pattern) || order(a.method, b.method))
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

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

/** A tree as text, for people and golden tests: fixed paths, then one line a node in the order of precedence. */
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
