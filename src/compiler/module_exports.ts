/** What a parsed module exports and imports. */
import type { Expression, ModuleDeclaration, Pattern, Program, Statement } from 'acorn'

/** The exports of a module; those that come through `export *` are not seen. */
export interface ModuleExports {
  /** Each exported name, and the module's own name for it: null for what has none, or comes from another module. */
  readonly names: ReadonlyMap<string, string | null>
  /** What each `const` at the top of the module is initialised with, by its name. */
  readonly constants: ReadonlyMap<string, Expression>
}

/** Lists the exports of a module. */
export function listExports({ body }: Program): ModuleExports {
  const names = new Map<string, string | null>()
  const constants = new Map<string, Expression>()
  for (const statement of body) {
    noteConstants(statement, constants)
    for (const [name, local] of exportsOf(statement)) names.set(name, local)
  }
  return { names, constants }
}

function exportsOf(statement: Statement | ModuleDeclaration): [name: string, local: string | null][] {
  switch (statement.type) {
    case 'ExportDefaultDeclaration':
      return [['default', null]]
    case 'ExportAllDeclaration':
      return statement.exported == null ? [] : [[nameOf(statement.exported), null]]
    case 'ExportNamedDeclaration': {
      const { declaration, source, specifiers } = statement
      if (declaration?.type === 'VariableDeclaration') {
        return declaration.declarations.flatMap(({ id }) => namesIn(id)).map((name) => [name, name])
      }
      if (declaration != null) return [[declaration.id.name, declaration.id.name]]
      return specifiers.map((
        { exported, local },
      ) => [nameOf(exported), source == null ? nameOf(local) : null])
    }
    default:
      return []
  }
}

function noteConstants(statement: Statement | ModuleDeclaration, constants: Map<string, Expression>): void {
  const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  if (declared?.type !== 'VariableDeclaration' || declared.kind !== 'const') return
  for (const { id, init } of declared.declarations) {
    if (id.type === 'Identifier' && init != null) constants.set(id.name, init)
  }
}

/** The variables that a pattern declares. */
function namesIn(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name]
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        namesIn(property.type === 'Property' ? property.value : property.argument)
      )
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => element === null ? [] : namesIn(element))
    case 'RestElement':
      return namesIn(pattern.argument)
    case 'AssignmentPattern':
      return namesIn(pattern.left)
    case 'MemberExpression':
      return []
  }
}

function nameOf(node: { type: 'Identifier'; name: string } | { type: 'Literal'; value?: unknown }): string {
  return node.type === 'Identifier' ? node.name : String(node.value)
}
