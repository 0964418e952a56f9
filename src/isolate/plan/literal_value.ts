/** Evaluates a JavaScript literal: objects, arrays, strings, numbers and arithmetic on them, `true false null undefined`. */

/** Text that is no literal, and where in it. */
export class LiteralError extends SyntaxError {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

interface Cursor {
  readonly text: string
  at: number
}

const MAX_DEPTH = 32
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['undefined', undefined],
  ['Infinity', Infinity],
  ['NaN', NaN],
])

/** Binary operators, loosest first; those of one row have the same precedence. */
const OPERATORS: readonly (readonly string[])[] = [['|'], ['^'], ['&'], ['<<', '>>>', '>>'], ['+', '-'], [
  '*',
  '/',
  '%',
]]

const SPACE = /(?:\s|\/\*[^]*?\*\/|\/\/[^\n]*)*/y
const NUMBER = /(?:0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w$])/y
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y
const END = /[;,)}\]]|$/y

/** The value of the expression at `at` of `text`, which must end at a `;`. Objects have no prototype. Throws `LiteralError`. */
export function evaluateLiteral(text: string, at = 0): unknown {
  const cursor = { text, at }
  const value = readBinary(cursor, 0, 0)
  skip(cursor)
  if (cursor.at < text.length && text[cursor.at] !== ';') throw notLiteral(cursor)
  return value
}

function readBinary(cursor: Cursor, row: number, depth: number): unknown {
  if (row === OPERATORS.length) return readUnary(cursor, depth)
  let left = readBinary(cursor, row + 1, depth)
  for (;;) {
    skip(cursor)
    const operator = OPERATORS[row].find((sign) => cursor.text.startsWith(sign, cursor.at))
    if (operator === undefined || isOther(cursor, operator)) return left
    const { at } = cursor
    cursor.at += operator.length
    left = calculate(operator, left, readBinary(cursor, row + 1, depth), at)
  }
}

/** `**`, `||`, `&&` and assignments begin like an operator that is known here. */
function isOther({ text, at }: Cursor, operator: string): boolean {
  const next = text[at + operator.length]
  return next === '=' || ('*|&'.includes(operator) && next === operator)
}

function calculate(operator: string, left: unknown, right: unknown, at: number): unknown {
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') return left + right
  if (typeof left !== 'number' || typeof right !== 'number') {
    throw new LiteralError(`'${operator}' on a ${typeof left} and a ${typeof right}, wanted numbers`, at)
  }
  switch (operator) {
    case '|':
      return left | right
    case '^':
      return left ^ right
    case '&':
      return left & right
    case '<<':
      return left << right
    case '>>':
      return left >> right
    case '>>>':
      return left >>> right
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return left / right
    default:
      return left % right
  }
}

function readUnary(cursor: Cursor, depth: number): unknown {
  skip(cursor)
  const sign = cursor.text[cursor.at]
  if (sign === '-' || sign === '+' || sign === '!' || sign === '~') {
    if (depth > MAX_DEPTH) throw new LiteralError('nested too deeply', cursor.at)
    const { at } = cursor
    cursor.at++
    const value = readUnary(cursor, depth + 1)
    if (sign === '!') return !value
    if (typeof value !== 'number') {
      throw new LiteralError(`'${sign}' on a ${typeof value}, wanted a number`, at)
    }
    return sign === '-' ? -value : sign === '~' ? ~value : value
  }
  return readValue(cursor, depth)
}

function readValue(cursor: Cursor, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new LiteralError('nested too deeply', cursor.at)
  const first = cursor.text[cursor.at]
  if (first === '{') return readObject(cursor, depth + 1)
  if (first === '[') return readArray(cursor, depth + 1)
  if (first === '(') {
    cursor.at++
    const value = readBinary(cursor, 0, depth + 1)
    skip(cursor)
    expect(cursor, ')')
    return value
  }
  if (first === '"' || first === "'") return readString(cursor)
  const number = take(cursor, NUMBER)
  if (number !== null) return Number(number)
  const start = cursor.at
  const word = take(cursor, NAME)
  if (word === 'void' && take(cursor, / 0/y) !== null) return undefined
  if (word === null || !WORDS.has(word)) {
    cursor.at = start
    throw notLiteral(cursor)
  }
  skip(cursor)
  if (!test(cursor, END) && OPERATORS.flat().every((sign) => !cursor.text.startsWith(sign, cursor.at))) {
    throw notLiteral(cursor)
  }
  return WORDS.get(word)
}

function readObject(cursor: Cursor, depth: number): Record<string, unknown> {
  cursor.at++
  const object: Record<string, unknown> = Object.create(null)
  for (skip(cursor); cursor.text[cursor.at] !== '}'; skip(cursor)) {
    const key = readKey(cursor)
    skip(cursor)
    expect(cursor, ':')
    object[key] = readBinary(cursor, 0, depth)
    skip(cursor)
    if (cursor.text[cursor.at] !== '}') expect(cursor, ',')
  }
  cursor.at++
  return object
}

function readKey(cursor: Cursor): string {
  const first = cursor.text[cursor.at]
  if (first === '"' || first === "'") return readString(cursor)
  const number = take(cursor, NUMBER)
  if (number !== null) return String(Number(number))
  const name = take(cursor, NAME)
  if (name === null) throw notLiteral(cursor)
  return name
}

function readArray(cursor: Cursor, depth: number): unknown[] {
  cursor.at++
  const array: unknown[] = []
  for (skip(cursor); cursor.text[cursor.at] !== ']'; skip(cursor)) {
    array.push(readBinary(cursor, 0, depth))
    skip(cursor)
    if (cursor.text[cursor.at] !== ']') expect(cursor, ',')
  }
  cursor.at++
  return array
}

const ESCAPE = /\\(?:u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|([^]))/g
const SHORT: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  0: '\0',
}

function readString(cursor: Cursor): string {
  const { at } = cursor
  const quoted = take(cursor, STRING)
  if (quoted === null) throw notLiteral(cursor)
  return quoted.slice(1, -1).replace(ESCAPE, (_, braced, four, two, character) => {
    const hex = braced ?? four ?? two
    if (hex === undefined) return SHORT[character] ?? character
    const code = parseInt(hex, 16)
    if (code > 0x10ffff) throw new LiteralError(`escape of ${hex}, wanted at most 10ffff`, at)
    return String.fromCodePoint(code)
  })
}

function expect(cursor: Cursor, sign: string): void {
  if (cursor.text[cursor.at] !== sign) throw notLiteral(cursor)
  cursor.at++
}

function skip(cursor: Cursor): void {
  take(cursor, SPACE)
}

function test(cursor: Cursor, pattern: RegExp): boolean {
  pattern.lastIndex = cursor.at
  return pattern.test(cursor.text)
}

function take(cursor: Cursor, pattern: RegExp): string | null {
  pattern.lastIndex = cursor.at
  const found = pattern.exec(cursor.text)
  if (found === null) return null
  cursor.at += found[0].length
  return found[0]
}

function notLiteral({ text, at }: Cursor): LiteralError {
  const [line] = text.slice(at, at + 40).split('\n')
  return new LiteralError(
    `'${line}' is no literal, wanted numbers, strings, true, false, arrays and objects only`,
    at,
  )
}
