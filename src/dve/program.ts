/** A page and every template that it includes, parsed, with the names that each one needs from outside. */
import type { Argument, Expression, Node } from './ast.ts'
import { type Source, TemplateError } from './error.ts'
import { parse } from './parse.ts'
import { type Binding, createScope, resolveKey, type Scope } from './scope.ts'

/** Most names that an included template may take from outside itself. */
const MAX_FREE_NAMES = 1000

/** A template's text and where it came from; `path` is undefined for a string. `paths` are all the names of the file. */
export interface LoadedSource extends Source {
  readonly id: string
  readonly paths: readonly string[]
}

/** Finds the template `name`. Throws `TemplateError` at `at` of `from`, the include that asked for it. */
export type LoadSource = (name: string, from: Source, at: number) => LoadedSource

export interface Unit {
  readonly index: number
  readonly source: LoadedSource
  readonly nodes: Node[]
  /** Included templates and layouts by the name that is written. */
  readonly references: Map<string, Unit>
  /** Keys that the template and what it includes leave open, in the order of parameters. */
  readonly free: Set<string>
  /** True when another template includes this one. */
  isIncluded: boolean
}

export interface Program {
  readonly units: Unit[]
  readonly entry: Unit
}

/** A place where one template calls another, with the names that are known there. */
interface Site {
  readonly unit: Unit
  readonly target: Unit
  readonly scope: Scope | null
}

/**
 * Reads `entry` and all that it includes. Throws the first `TemplateError`; with `errors`, problems are collected, and a
 * template that cannot be found is left out.
 */
export function buildProgram(
  entry: LoadedSource,
  load: LoadSource,
  errors: TemplateError[] | null = null,
): Program {
  const units: Unit[] = []
  const byId = new Map<string, Unit>()
  function open(source: LoadedSource): Unit {
    const unit: Unit = {
      index: units.length,
      source,
      nodes: parse(source, errors),
      references: new Map(),
      free: new Set(),
      isIncluded: false,
    }
    units.push(unit)
    byId.set(source.id, unit)
    return unit
  }
  open(entry)
  // `units` grows while it is walked.
  for (const unit of units) {
    visitReferences(unit.nodes, (name, at) => {
      if (unit.references.has(name)) return
      try {
        const source = load(name, unit.source, at)
        const target = byId.get(source.id) ?? open(source)
        target.isIncluded = true
        unit.references.set(name, target)
      } catch (error) {
        if (errors === null || !(error instanceof TemplateError)) throw error
        errors.push(error)
      }
    })
  }
  resolveFreeNames(units, errors)
  return { units, entry: units[0]! }
}

function visitReferences(nodes: readonly Node[], visit: (name: string, at: number) => void): void {
  for (const node of nodes) {
    switch (node.type) {
      case 'if':
        for (const branch of node.branches) visitReferences(branch.body, visit)
        if (node.otherwise !== null) visitReferences(node.otherwise, visit)
        break
      case 'each':
        visitReferences(node.body, visit)
        if (node.otherwise !== null) visitReferences(node.otherwise, visit)
        break
      case 'slot':
        visitReferences(node.body, visit)
        break
      case 'include':
        visit(node.name, node.at)
        break
      case 'layout':
        visit(node.name, node.at)
        for (const block of node.blocks) visitReferences(block.body, visit)
        break
    }
  }
}

const ANY: Binding = { code: '', kind: 'any' }
const LOOP_KEYS = ['@index', '@first', '@last', '@length', '@key']

/** Keys that a bare `@parent` reads, `up` loops away. */
export function parentKeys(up: number): string[] {
  return LOOP_KEYS.map((key) => '^'.repeat(up) + key)
}

/** Fills `free` of every unit: what it uses itself, then what its includes use, until nothing is added. */
function resolveFreeNames(units: readonly Unit[], errors: TemplateError[] | null): void {
  const sites: Site[] = []
  for (const unit of units) collectNodes(unit, unit.nodes, null, sites)
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false
    for (const site of sites) {
      const before = site.unit.free.size
      for (const key of [...site.target.free]) addKey(site.unit, site.scope, key)
      if (site.unit.free.size > before) isGrowing = true
    }
  }
  for (const unit of units) {
    if (!unit.isIncluded || unit.free.size <= MAX_FREE_NAMES) continue
    const error = new TemplateError(
      `Cannot include: ${unit.source.file} uses ${unit.free.size} names, want at most ${MAX_FREE_NAMES}`,
      unit.source,
      0,
    )
    if (errors === null) throw error
    errors.push(error)
  }
}

function addKey(unit: Unit, scope: Scope | null, key: string): void {
  const found = resolveKey(scope, key)
  if (typeof found === 'string') unit.free.add(found)
}

function collectNodes(unit: Unit, nodes: readonly Node[], scope: Scope | null, sites: Site[]): void {
  for (const node of nodes) {
    switch (node.type) {
      case 'value':
        collectExpression(unit, node.value, scope)
        break
      case 'if':
        for (const branch of node.branches) {
          collectExpression(unit, branch.test, scope)
          collectNodes(unit, branch.body, scope, sites)
        }
        if (node.otherwise !== null) collectNodes(unit, node.otherwise, scope, sites)
        break
      case 'each': {
        collectExpression(unit, node.list, scope)
        const names = new Map(LOOP_KEYS.map((key) => [key, ANY]))
        names.set(node.item, ANY)
        if (node.key !== null) names.set(node.key, ANY)
        collectNodes(unit, node.body, createScope(scope, true, names), sites)
        if (node.otherwise !== null) collectNodes(unit, node.otherwise, scope, sites)
        break
      }
      case 'slot':
        collectNodes(unit, node.body, scope, sites)
        break
      case 'include':
      case 'layout': {
        const target = unit.references.get(node.name)
        const inner = collectArguments(unit, node.args, scope)
        if (target !== undefined) sites.push({ unit, target, scope: inner })
        if (node.type === 'layout') {
          for (const block of node.blocks) collectNodes(unit, block.body, scope, sites)
        }
        break
      }
    }
  }
}

function collectArguments(unit: Unit, args: readonly Argument[], scope: Scope | null): Scope | null {
  for (const arg of args) collectExpression(unit, arg.value, scope)
  if (args.length === 0) return scope
  return createScope(scope, false, new Map(args.map((arg) => [arg.name, ANY])))
}

function collectExpression(unit: Unit, expression: Expression, scope: Scope | null): void {
  switch (expression.type) {
    case 'literal':
      break
    case 'name':
      addKey(unit, scope, expression.key)
      break
    case 'parent':
      for (const key of parentKeys(expression.up)) addKey(unit, scope, key)
      break
    case 'member':
      collectExpression(unit, expression.object, scope)
      break
    case 'index':
      collectExpression(unit, expression.object, scope)
      collectExpression(unit, expression.index, scope)
      break
    case 'unary':
      collectExpression(unit, expression.operand, scope)
      break
    case 'binary':
    case 'logical':
      collectExpression(unit, expression.left, scope)
      collectExpression(unit, expression.right, scope)
      break
    case 'choice':
      collectExpression(unit, expression.test, scope)
      collectExpression(unit, expression.yes, scope)
      collectExpression(unit, expression.no, scope)
      break
    case 'filter':
      collectExpression(unit, expression.value, scope)
      break
  }
}
