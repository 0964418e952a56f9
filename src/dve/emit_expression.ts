/**
 * Expressions as JavaScript. Everything that a template's author wrote enters as JSON: names of properties and texts are
 * string literals, locals are made here.
 */
import type { BinaryOperator, Expression, LiteralValue } from './ast.ts'
import { TemplateError } from './error.ts'
import { parentKeys, type Unit } from './program.ts'
import { type Binding, type Kind, resolveKey, type Scope } from './scope.ts'

/** Application functions by name, for `{{ value | name }}`. */
export type Filter = (value: unknown) => unknown

/** What all functions of one generated module share. `places` holds a unit's index and an offset for each place. */
export interface Emitter {
  readonly isStream: boolean
  readonly filters: ReadonlyMap<string, Filter>
  readonly usedFilters: Filter[]
  readonly places: number[]
  /** Statements made so far; swapped while a body is made whose head depends on it. */
  lines: string[]
  /** Pieces of output that the next statement will append; `isText` when the piece is surely a string. */
  parts: { code: string; isText: boolean }[]
  nextLocal: number
}

/** The function that is being made: its unit, and whether open names are parameters or the data's properties. */
export interface Frame {
  readonly unit: Unit
  readonly parameters: ReadonlyMap<string, Binding> | null
}

/** Generated code, what is known of its value, and whether it can throw. */
export interface Code {
  readonly code: string
  readonly kind: Kind
  readonly isSafe: boolean
}

const HELPER: Readonly<Partial<Record<BinaryOperator, string>>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'rem',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
}

/** A new JavaScript name. */
export function createLocal(emitter: Emitter): string {
  return `v${emitter.nextLocal++}`
}

/** The number of a place, for errors that happen at render. */
export function addPlace(emitter: Emitter, unit: Unit, at: number): number {
  return emitter.places.push(unit.index, at) / 2 - 1
}

/** A value as source text: JSON, or words for what JSON has not. */
function literalCode(value: LiteralValue): string {
  if (value === undefined) return '(void 0)'
  if (typeof value !== 'number') return JSON.stringify(value)
  if (Number.isNaN(value)) return '(0/0)'
  if (value === Infinity) return '(1/0)'
  if (value === -Infinity) return '(-1/0)'
  return Object.is(value, -0) ? '(-0)' : `(${JSON.stringify(value)})`
}

/** The code of a scope key. */
export function emitKey(frame: Frame, scope: Scope | null, key: string): Code {
  const found = resolveKey(scope, key)
  if (typeof found !== 'string') return { ...found, isSafe: true }
  if (frame.parameters !== null) {
    const parameter = frame.parameters.get(found)
    if (parameter === undefined) throw new Error(`Cannot emit name: ${found} was not collected`)
    return { ...parameter, isSafe: true }
  }
  const name = found.replace(/^\^+/, '')
  if (name.startsWith('@')) return { code: '(void 0)', kind: 'any', isSafe: true }
  return { code: `g(d,${JSON.stringify(name)})`, kind: 'any', isSafe: false }
}

/** The code of an expression. Throws `TemplateError` for a filter that nobody registered. */
export function emitExpression(
  emitter: Emitter,
  frame: Frame,
  scope: Scope | null,
  expression: Expression,
): Code {
  const emit = (part: Expression): Code => emitExpression(emitter, frame, scope, part)
  switch (expression.type) {
    case 'literal': {
      const { value } = expression
      const kind = typeof value
      return {
        code: literalCode(value),
        kind: kind === 'number' || kind === 'boolean' || kind === 'string' ? kind : 'any',
        isSafe: true,
      }
    }
    case 'name':
      return emitKey(frame, scope, expression.key)
    case 'parent': {
      const keys = parentKeys(expression.up).map((key) => emitKey(frame, scope, key).code)
      return { code: `P(${keys.join()})`, kind: 'any', isSafe: true }
    }
    case 'member': {
      const object = emit(expression.object)
      return { code: `g(${object.code},${JSON.stringify(expression.name)})`, kind: 'any', isSafe: false }
    }
    case 'index': {
      const object = emit(expression.object)
      return { code: `x(${object.code},${emit(expression.index).code})`, kind: 'any', isSafe: false }
    }
    case 'unary': {
      const operand = emit(expression.operand)
      if (expression.operator === '!') {
        return { code: `(!${operand.code})`, kind: 'boolean', isSafe: operand.isSafe }
      }
      const name = expression.operator === '-' ? 'neg' : 'pos'
      return { code: `${name}(${operand.code})`, kind: 'any', isSafe: false }
    }
    case 'binary':
      return emitBinary(expression.operator, emit(expression.left), emit(expression.right))
    case 'logical': {
      const left = emit(expression.left)
      const right = emit(expression.right)
      return {
        code: `(${left.code}${expression.operator}${right.code})`,
        kind: left.kind === right.kind ? left.kind : 'any',
        isSafe: left.isSafe && right.isSafe,
      }
    }
    case 'choice': {
      const [test, yes, no] = [emit(expression.test), emit(expression.yes), emit(expression.no)]
      return {
        code: `(${test.code}?${yes.code}:${no.code})`,
        kind: yes.kind === no.kind ? yes.kind : 'any',
        isSafe: test.isSafe && yes.isSafe && no.isSafe,
      }
    }
    case 'filter': {
      const filter = emitter.filters.get(expression.name)
      if (filter === undefined) {
        throw new TemplateError(
          `Cannot find filter: ${expression.name} is not registered, want one of ` +
            ([...emitter.filters.keys()].sort().join(', ') || 'none, for the engine has no filters'),
          frame.unit.source,
          expression.at,
        )
      }
      let index = emitter.usedFilters.indexOf(filter)
      if (index < 0) index = emitter.usedFilters.push(filter) - 1
      const place = addPlace(emitter, frame.unit, expression.at)
      return { code: `f(s,K[${index}],${emit(expression.value).code},${place})`, kind: 'any', isSafe: false }
    }
  }
}

/** Numbers and identity go to JavaScript's own operators, the rest to the inert ones. */
function emitBinary(operator: BinaryOperator, left: Code, right: Code): Code {
  const isSafe = left.isSafe && right.isSafe
  const both = `(${left.code}${operator} ${right.code})`
  if (operator === '===' || operator === '!==') return { code: both, kind: 'boolean', isSafe }
  const helper = HELPER[operator]
  if (helper === undefined) {
    const code = `${operator === '!=' ? '!' : ''}eq(${left.code},${right.code})`
    return { code: `(${code})`, kind: 'boolean', isSafe: false }
  }
  const isComparison = helper === 'lt' || helper === 'le' || helper === 'gt' || helper === 'ge'
  const kind: Kind = isComparison ? 'boolean' : 'number'
  if (left.kind === 'number' && right.kind === 'number') return { code: both, kind, isSafe }
  return { code: `${helper}(${left.code},${right.code})`, kind: isComparison ? kind : 'any', isSafe: false }
}
