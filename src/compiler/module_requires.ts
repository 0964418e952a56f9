/** What a parsed module requires by functions that `createRequire` of `node:module` gave. */
import type { AnyNode, CallExpression, Program } from 'acorn'
import { textOf } from './module_imports.ts'
import { visit } from './module_walk.ts'

const CREATE = 'createRequire'

/**
 * The specifiers that stand as constant text in calls of what `createRequire` gave. A name counts for the whole module, wherever it is
 * declared, so there may be more than it requires.
 */
export function listCreatedRequires(program: Program): string[] {
  const makers = new Set([CREATE])
  const made = new Set<string>()
  const calls: CallExpression[] = []
  visit(program, (node) => {
    if (node.type === 'CallExpression') calls.push(node)
    const [name, local] = renamed(node)
    if (name === CREATE && local !== null) makers.add(local)
  })
  const makes = (node: AnyNode) => node.type === 'CallExpression' && makers.has(lastName(node.callee) ?? '')
  visit(program, (node) => {
    if (node.type === 'VariableDeclarator' && node.init != null && makes(node.init)) note(node.id)
    if (node.type === 'AssignmentExpression' && makes(node.right)) note(node.left)
  })
  function note(target: AnyNode): void {
    if (target.type === 'Identifier') made.add(target.name)
  }
  const found = new Set<string>()
  for (const { callee, arguments: [first] } of calls) {
    if (first === undefined || !(makes(callee) || (callee.type === 'Identifier' && made.has(callee.name)))) {
      continue
    }
    const specifier = textOf(first)
    if (specifier !== null) found.add(specifier)
  }
  return [...found]
}

/** A name that a node takes over from a module or an object, and the module's own name for it. */
function renamed(node: AnyNode): [name: string | null, local: string | null] {
  if (node.type === 'ImportSpecifier') return [lastName(node.imported), node.local.name]
  // Of patterns; in an object that is made it does no harm.
  if (node.type === 'Property' && node.value.type === 'Identifier') {
    return [lastName(node.key), node.value.name]
  }
  if (node.type === 'VariableDeclarator' && node.init != null && node.id.type === 'Identifier') {
    return [lastName(node.init), node.id.name]
  }
  return [null, null]
}

/** What an identifier, or the last part of a member expression, is called. */
function lastName(node: AnyNode): string | null {
  if (node.type === 'Identifier') return node.name
  return node.type === 'MemberExpression' && !node.computed ? lastName(node.property) : null
}
