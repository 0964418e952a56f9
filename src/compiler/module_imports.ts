/** What a parsed module imports. */
import type { AnyNode, Program } from 'acorn'
import { visit } from './module_walk.ts'

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

/** The text of a literal, or of a template without expressions; null for another expression. */
export function textOf(node: AnyNode): string | null {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null
  if (node.type !== 'TemplateLiteral' || node.expressions.length > 0) return null
  return node.quasis[0]!.value.cooked ?? null
}
