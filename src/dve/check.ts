/** Looks for every problem of a template and of all that it includes, without rendering it. */
import type { Expression, Node } from './ast.ts'
import type { Filter } from './emit_expression.ts'
import { hasSlot } from './emit_nodes.ts'
import { TemplateError } from './error.ts'
import { buildProgram, type LoadedSource, type LoadSource, type Unit } from './program.ts'

/** All problems, sorted by file and place: syntax, missing templates, unknown filters, blocks that no slot shows. */
export function check(
  entry: LoadedSource,
  load: LoadSource,
  filters: ReadonlyMap<string, Filter>,
): TemplateError[] {
  const errors: TemplateError[] = []
  const program = buildProgram(entry, load, errors)
  for (const unit of program.units) checkNodes(unit, unit.nodes, filters, errors)
  const order = new Map(program.units.map((unit) => [unit.source.file, unit.index]))
  return errors.sort((a, b) =>
    (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0) || a.line - b.line || a.column - b.column
  )
}

function checkNodes(
  unit: Unit,
  nodes: readonly Node[],
  filters: ReadonlyMap<string, Filter>,
  errors: TemplateError[],
): void {
  const body = (inner: readonly Node[] | null): void => {
    if (inner !== null) checkNodes(unit, inner, filters, errors)
  }
  const value = (expression: Expression): void => checkFilters(unit, expression, filters, errors)
  for (const node of nodes) {
    switch (node.type) {
      case 'value':
        value(node.value)
        break
      case 'if':
        for (const branch of node.branches) {
          value(branch.test)
          body(branch.body)
        }
        body(node.otherwise)
        break
      case 'each':
        value(node.list)
        body(node.body)
        body(node.otherwise)
        break
      case 'slot':
        body(node.body)
        break
      case 'include':
        for (const arg of node.args) value(arg.value)
        break
      case 'layout':
        for (const arg of node.args) value(arg.value)
        for (const block of node.blocks) {
          const layout = unit.references.get(node.name)
          if (layout !== undefined && !isShown(layout, block.name, new Set())) {
            errors.push(
              new TemplateError(
                `Cannot fill slot: ${node.name} has no slot ${block.name}`,
                unit.source,
                block.at,
              ),
            )
          }
          body(block.body)
        }
        break
    }
  }
}

/** True when `layout`, or a layout that it extends, has the slot. */
function isShown(layout: Unit, name: string, seen: Set<Unit>): boolean {
  if (seen.has(layout)) return false
  seen.add(layout)
  if (hasSlot(layout.nodes, name)) return true
  return layout.nodes.some((node) => {
    if (node.type !== 'layout') return false
    const outer = layout.references.get(node.name)
    return outer !== undefined && isShown(outer, name, seen)
  })
}

function checkFilters(
  unit: Unit,
  expression: Expression,
  filters: ReadonlyMap<string, Filter>,
  errors: TemplateError[],
): void {
  const visit = (inner: Expression): void => checkFilters(unit, inner, filters, errors)
  switch (expression.type) {
    case 'literal':
    case 'name':
    case 'parent':
      break
    case 'member':
      visit(expression.object)
      break
    case 'index':
      visit(expression.object)
      visit(expression.index)
      break
    case 'unary':
      visit(expression.operand)
      break
    case 'binary':
    case 'logical':
      visit(expression.left)
      visit(expression.right)
      break
    case 'choice':
      visit(expression.test)
      visit(expression.yes)
      visit(expression.no)
      break
    case 'filter': {
      visit(expression.value)
      if (filters.has(expression.name)) break
      const reason = `Cannot find filter: ${expression.name} is not registered`
      errors.push(new TemplateError(reason, unit.source, expression.at))
      break
    }
  }
}
