/** What a parsed module imports. */
import type { AnyNode, Program } from 'acorn'

/** The specifiers of all imports, and of what is exported from elsewhere; of `import()` those that are constant text. */
export function listImports(program: Program): string[] {
  const found: string[] = []
  visit(program, (node) => {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
      case 'ExportAllDeclaration':
      case 'ImportExpression': {
        const specifier = node.source == null ? null : textOf(node.source)
        if (specifier !== null) found.push(specifier)
      }
    }
  })
  return found
}

/** The text of a literal, or of a template without expressions. */
function textOf(node: AnyNode): string | null {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null
  if (node.type !== 'TemplateLiteral' || node.expressions.length > 0) return null
  return node.quasis[0]!.value.cooked ?? null
}

/** Calls `look` for a node and all below it; the depth of sources is no depth of calls. */
function visit(root: AnyNode, look: (node: AnyNode) => void): void {
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
