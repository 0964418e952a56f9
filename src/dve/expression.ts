/** Expressions: the part of JavaScript's grammar that has no calls and no assignment. */
import type { BinaryOperator, Expression, LogicalOperator } from './ast.ts'
import { type Source, TemplateError } from './error.ts'
import { fold } from './fold.ts'
import { nextToken, type Token } from './lex.ts'

/** Deepest tree of an expression. */
const MAX_EXPRESSION_DEPTH = 256

/** A reader of one tag's tokens. `close` is what ends the tag. */
export interface Reader {
  readonly source: Source
  readonly close: string
  token: Token
  depth: number
  /** True when the operand of `||` or `??` that was read last held `&&` outside parentheses. */
  hasAnd: boolean
}

const PRECEDENCE: ReadonlyMap<string | number, number> = new Map([
  ['==', 1],
  ['!=', 1],
  ['===', 1],
  ['!==', 1],
  ['<', 2],
  ['>', 2],
  ['<=', 2],
  ['>=', 2],
  ['+', 3],
  ['-', 3],
  ['*', 4],
  ['/', 4],
  ['%', 4],
])
const META = new Set(['index', 'first', 'last', 'length', 'key'])

/** A reader whose first token is the one at or behind `at`. */
export function createReader(source: Source, at: number, close: string): Reader {
  return { source, close, token: nextToken(source, at, close), depth: 0, hasAnd: false }
}

/** Takes the current token and reads the next one. */
export function take(reader: Reader): Token {
  const { token } = reader
  reader.token = nextToken(reader.source, token.end, reader.close)
  return token
}

/** True when the current token is the operator `value`. */
export function isOperator(reader: Reader, value: string): boolean {
  return reader.token.kind === 'operator' && reader.token.value === value
}

/** How an error calls a token. */
export function describe(token: Token): string {
  if (token.kind === 'end') return 'the end of the template'
  if (token.kind === 'close') return 'the end of the tag'
  return JSON.stringify(String(token.value))
}

/** The error for a token that does not fit. */
export function unexpected(reader: Reader, want: string): TemplateError {
  const what = reader.token.kind === 'end' ? 'Cannot read tag' : 'Cannot read expression'
  return new TemplateError(
    `${what}: found ${describe(reader.token)}, want ${want}`,
    reader.source,
    reader.token.at,
  )
}

/** An expression and the filters behind it: `a + b | money | upper`. */
export function readPipe(reader: Reader): Expression {
  let value = readChoice(reader)
  let filters = 0
  while (isOperator(reader, '|')) {
    take(reader)
    if (reader.token.kind !== 'name') throw unexpected(reader, 'the name of a filter')
    if (++filters > MAX_EXPRESSION_DEPTH) throw tooDeep(reader)
    const name = take(reader)
    value = { type: 'filter', name: String(name.value), value, at: name.at }
  }
  return value
}

function tooDeep(reader: Reader): TemplateError {
  return new TemplateError(
    `Cannot read expression: it nests deeper than ${MAX_EXPRESSION_DEPTH} (maxNesting), want a simpler one`,
    reader.source,
    reader.token.at,
    { limit: 'maxNesting' },
  )
}

function readChoice(reader: Reader): Expression {
  if (++reader.depth > MAX_EXPRESSION_DEPTH) throw tooDeep(reader)
  const before = reader.depth
  const test = readLogical(reader)
  let result = test
  if (isOperator(reader, '?')) {
    take(reader)
    const yes = readChoice(reader)
    if (!isOperator(reader, ':')) throw unexpected(reader, '":"')
    take(reader)
    const no = readChoice(reader)
    result = fold({ type: 'choice', test, yes, no })
  }
  reader.depth = before - 1
  return result
}

/** `||` over `&&`, or a chain of `??`; JavaScript refuses a mix without parentheses, and so does this. */
function readLogical(reader: Reader): Expression {
  let left = readAnd(reader)
  if (isOperator(reader, '||')) {
    left = readLogicalChain(reader, left, '||', readAnd)
    if (isOperator(reader, '??')) throw unexpected(reader, 'parentheses, for ?? does not mix with || or &&')
  } else if (isOperator(reader, '??')) {
    if (reader.hasAnd) {
      throw unexpected(reader, 'parentheses, for ?? does not mix with || or &&')
    }
    left = readLogicalChain(reader, left, '??', readOperand)
    if (isOperator(reader, '||') || isOperator(reader, '&&')) {
      throw unexpected(reader, 'parentheses, for ?? does not mix with || or &&')
    }
  }
  return left
}

function readAnd(reader: Reader): Expression {
  const first = readOperand(reader)
  const hasAnd = isOperator(reader, '&&')
  const result = hasAnd ? readLogicalChain(reader, first, '&&', readOperand) : first
  reader.hasAnd = hasAnd
  return result
}

/** `first op next op next …`, left to right. Each operator makes the tree deeper unless it folds away. */
function readLogicalChain(
  reader: Reader,
  first: Expression,
  operator: LogicalOperator,
  read: (reader: Reader) => Expression,
): Expression {
  let left = first
  const before = reader.depth
  while (isOperator(reader, operator)) {
    take(reader)
    left = fold({ type: 'logical', operator, left, right: read(reader) })
    if (left.type !== 'literal' && ++reader.depth > MAX_EXPRESSION_DEPTH) throw tooDeep(reader)
  }
  reader.depth = before
  return left
}

function readOperand(reader: Reader): Expression {
  return readBinary(reader, 1)
}

/** Operators that bind at least as tightly as `least`, left to right. */
function readBinary(reader: Reader, least: number): Expression {
  let left = readUnary(reader)
  const before = reader.depth
  while (reader.token.kind === 'operator') {
    const precedence = PRECEDENCE.get(reader.token.value)
    if (precedence === undefined || precedence < least) break
    const operator = take(reader).value as BinaryOperator
    left = fold({ type: 'binary', operator, left, right: readBinary(reader, precedence + 1) })
    if (left.type !== 'literal' && ++reader.depth > MAX_EXPRESSION_DEPTH) throw tooDeep(reader)
  }
  reader.depth = before
  return left
}

function readUnary(reader: Reader): Expression {
  if (isOperator(reader, '!') || isOperator(reader, '+') || isOperator(reader, '-')) {
    if (++reader.depth > MAX_EXPRESSION_DEPTH) throw tooDeep(reader)
    const operator = take(reader).value as '!' | '+' | '-'
    const operand = readUnary(reader)
    reader.depth--
    return fold({ type: 'unary', operator, operand })
  }
  return readMembers(reader)
}

function readMembers(reader: Reader): Expression {
  let object = readPrimary(reader)
  const before = reader.depth
  for (;;) {
    const isOptional = isOperator(reader, '?.')
    if (isOptional || isOperator(reader, '.')) {
      take(reader)
      if (isOptional && isOperator(reader, '[')) {
        object = readIndex(reader, object)
      } else if (reader.token.kind === 'name') {
        object = { type: 'member', object, name: String(take(reader).value) }
      } else {
        throw unexpected(reader, 'the name of a property')
      }
    } else if (isOperator(reader, '[')) {
      object = readIndex(reader, object)
    } else {
      if (isOperator(reader, '(')) throw unexpected(reader, 'no call, templates have none')
      reader.depth = before
      return object
    }
    if (++reader.depth > MAX_EXPRESSION_DEPTH) throw tooDeep(reader)
  }
}

function readIndex(reader: Reader, object: Expression): Expression {
  take(reader)
  const index = readPipe(reader)
  if (!isOperator(reader, ']')) throw unexpected(reader, '"]"')
  take(reader)
  if (index.type === 'literal') return { type: 'member', object, name: String(index.value) }
  return { type: 'index', object, index }
}

function readPrimary(reader: Reader): Expression {
  const { token } = reader
  if (token.kind === 'number' || token.kind === 'string') {
    take(reader)
    return { type: 'literal', value: token.value }
  }
  if (token.kind === 'name') {
    take(reader)
    if (token.value === 'true') return { type: 'literal', value: true }
    if (token.value === 'false') return { type: 'literal', value: false }
    if (token.value === 'null') return { type: 'literal', value: null }
    if (token.value === 'undefined') return { type: 'literal', value: undefined }
    return { type: 'name', key: String(token.value) }
  }
  if (token.kind === 'meta') return readMeta(reader)
  if (!isOperator(reader, '(')) throw unexpected(reader, 'an expression')
  take(reader)
  const inner = readPipe(reader)
  if (!isOperator(reader, ')')) throw unexpected(reader, '")"')
  take(reader)
  return inner
}

/** `@index` and its like, behind any number of `@parent`. */
function readMeta(reader: Reader): Expression {
  let up = 0
  for (;;) {
    const { token } = reader
    const name = String(token.value).replace('@', '')
    if (token.kind === 'meta' && name !== 'parent' && !META.has(name)) {
      throw unexpected(reader, '@index, @first, @last, @length, @key or @parent')
    }
    take(reader)
    if (META.has(name)) return { type: 'name', key: `${'^'.repeat(up)}@${name}` }
    if (name !== 'parent') return { type: 'name', key: '^'.repeat(up) + name }
    if (++up > MAX_EXPRESSION_DEPTH) throw tooDeep(reader)
    if (!isOperator(reader, '.') && !isOperator(reader, '?.')) return { type: 'parent', up }
    const dot = take(reader)
    const after = reader.token
    if (dot.value === '?.' && isOperator(reader, '[')) {
      return readIndex(reader, { type: 'parent', up })
    }
    if (after.kind !== 'name' && after.kind !== 'meta') throw unexpected(reader, 'the name of a property')
  }
}
