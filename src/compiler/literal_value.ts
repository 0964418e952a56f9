/** Evaluates a literal of a syntax tree: objects, arrays, strings, numbers and arithmetic on them, `true false null undefined`. */
import type { AnyNode, ObjectExpression } from 'acorn'

/** A part of a tree that is no literal. */
export class LiteralError extends SyntaxError {
  /** Where it begins in what was parsed. */
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

const MAX_DEPTH = 32
const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['undefined', undefined],
  ['Infinity', Infinity],
  ['NaN', NaN],
])

const CALCULATIONS: Readonly<Record<string, (left: number, right: number) => number>> = {
  '|': (left, right) => left | right,
  '^': (left, right) => left ^ right,
  '&': (left, right) => left & right,
  '<<': (left, right) => left << right,
  '>>': (left, right) => left >> right,
  '>>>': (left, right) => left >>> right,
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
}

/** The value of an expression as of {@link evaluateLiteral}; undefined for one that is no literal. */
export function tryLiteral(node: AnyNode, code: string): unknown {
  try {
    return evaluateLiteral(node, code)
  } catch (error) {
    if (error instanceof LiteralError) return undefined
    throw error
  }
}

/** The value of an expression that was parsed from `code`. Objects have no prototype. Throws `LiteralError`. */
export function evaluateLiteral(node: AnyNode, code: string, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new LiteralError('nested too deeply', node.start)
  const evaluate = (inner: AnyNode) => evaluateLiteral(inner, code, depth + 1)
  switch (node.type) {
    case 'Literal':
      if (node.regex != null || node.bigint != null) break
      return node.value
    case 'Identifier':
      if (CONSTANTS.has(node.name)) return CONSTANTS.get(node.name)
      break
    case 'TemplateLiteral':
      if (node.expressions.length > 0) break
      return node.quasis[0]!.value.cooked
    case 'UnaryExpression':
      if (!'+-~!'.includes(node.operator) && !isVoidZero(node.operator, node.argument)) break
      return applySign(node.operator, evaluate(node.argument), node.start)
    case 'BinaryExpression':
      if (!Object.hasOwn(CALCULATIONS, node.operator)) break
      // A chain of operators is as deep as it is long on its left side only.
      return calculate(
        node.operator,
        evaluateLiteral(node.left, code, depth),
        evaluate(node.right),
        node.start,
      )
    case 'ArrayExpression':
      return node.elements.map((element) => {
        if (element === null) throw notLiteral(node, code)
        return evaluate(element)
      })
    case 'ObjectExpression':
      return readObject(node, code, evaluate)
  }
  throw notLiteral(node, code)
}

function readObject(
  { properties }: ObjectExpression,
  code: string,
  evaluate: (node: AnyNode) => unknown,
): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null)
  for (const property of properties) {
    if (property.type !== 'Property' || property.kind !== 'init' || property.computed || property.shorthand) {
      throw notLiteral(property, code)
    }
    const { key, value } = property
    object[key.type === 'Identifier' ? key.name : String(evaluate(key))] = evaluate(value)
  }
  return object
}

function isVoidZero(operator: string, argument: AnyNode): boolean {
  return operator === 'void' && argument.type === 'Literal' && argument.value === 0
}

function applySign(sign: string, value: unknown, at: number): unknown {
  if (sign === '!') return !value
  if (sign === 'void') return undefined
  if (typeof value !== 'number') throw new LiteralError(`'${sign}' on a ${typeof value}, wanted a number`, at)
  return sign === '-' ? -value : sign === '~' ? ~value : value
}

function calculate(operator: string, left: unknown, right: unknown, at: number): unknown {
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') return left + right
  if (typeof left !== 'number' || typeof right !== 'number') {
    throw new LiteralError(`'${operator}' on a ${typeof left} and a ${typeof right}, wanted numbers`, at)
  }
  return CALCULATIONS[operator]!(left, right)
}

function notLiteral({ start, end }: AnyNode, code: string): LiteralError {
  const [line] = code.slice(start, Math.min(end, start + 40)).split('\n')
  return new LiteralError(
    `'${line}' is no literal, wanted numbers, strings, true, false, arrays and objects only`,
    start,
  )
}
