/**
 * JavaScript's operators, with data kept inert: an object's own `valueOf`, `toString` or `Symbol.toPrimitive` is never
 * called. Primitives behave as in JavaScript; a function is undefined, a Date its time, an array of primitives its
 * elements joined by commas, any other object the text `[object Object]`.
 */
import type { BinaryOperator } from './ast.ts'

/** Longest text that an expression may make, in characters. */
const MAX_TEXT_SIZE = 16_777_216
/** Deepest array in an array that is still printed, and the most elements of all of them together. */
const MAX_ARRAY_DEPTH = 8
const MAX_ARRAY_ELEMENTS = 1_000_000
const dateTime = Date.prototype.getTime
const dateText = Date.prototype.toISOString
const getOwn = Object.getOwnPropertyDescriptor

/** Thrown when a text crosses `MAX_TEXT_SIZE`. */
export class TextSizeError extends RangeError {}

/** The time of a genuine Date in milliseconds, else undefined. */
function timeOf(value: object): number | undefined {
  if (!(value instanceof Date)) return undefined
  try {
    return dateTime.call(value)
  } catch {
    // Only looks like a Date: an object made with Date.prototype, or a proxy of a Date.
    return undefined
  }
}

/** The text of an object, see above; a Date is ISO 8601, an invalid one empty. */
export function objectText(value: object): string {
  if (Array.isArray(value)) return arrayText(value, 0, { elements: 0 })
  const time = timeOf(value)
  if (time === undefined) return '[object Object]'
  return Number.isNaN(time) ? '' : dateText.call(value)
}

function arrayText(array: readonly unknown[], depth: number, done: { elements: number }): string {
  let text = ''
  const length = getOwn(array, 'length')?.value
  done.elements += length
  if (done.elements > MAX_ARRAY_ELEMENTS) throw new TextSizeError(textSizeReason())
  for (let i = 0; i < length; i++) {
    if (i > 0) text += ','
    const value = getOwn(array, i)?.value
    if (typeof value === 'string') text += value
    else if (Array.isArray(value)) text += depth < MAX_ARRAY_DEPTH ? arrayText(value, depth + 1, done) : ''
    else if (typeof value === 'object' && value !== null) text += objectText(value)
    else if (
      value !== undefined && value !== null && typeof value !== 'function' && typeof value !== 'symbol'
    ) {
      text += value
    }
    if (text.length > MAX_TEXT_SIZE) throw new TextSizeError(textSizeReason())
  }
  return text
}

function textSizeReason(): string {
  return `Cannot make text: it is over ${MAX_TEXT_SIZE} characters or ${MAX_ARRAY_ELEMENTS} elements (maxTextSize)`
}

/** A primitive that stands for `value`; `hint` is what a Date becomes. */
function toPrimitive(value: unknown, hint: 'number' | 'string'): unknown {
  if (typeof value === 'function') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (hint === 'number') {
    const time = timeOf(value)
    if (time !== undefined) return time
  }
  return objectText(value)
}

// The operands below are primitives, so JavaScript's own operators call nothing. `Operand` keeps the checker content.
type Operand = number

/** `+a`. Throws `TypeError` for a bigint or a symbol, as JavaScript does. */
export function toNumber(value: unknown): unknown {
  return +(toPrimitive(value, 'number') as Operand)
}

/** `-a` */
export function negate(value: unknown): unknown {
  return -(toPrimitive(value, 'number') as Operand)
}

/** `a + b` */
export function add(left: unknown, right: unknown): unknown {
  if (typeof left === 'number' && typeof right === 'number') return left + right
  const sum = (toPrimitive(left, 'string') as Operand) + (toPrimitive(right, 'string') as Operand) as unknown
  if (typeof sum === 'string' && sum.length > MAX_TEXT_SIZE) throw new TextSizeError(textSizeReason())
  return sum
}

function subtract(left: unknown, right: unknown): unknown {
  return (toPrimitive(left, 'number') as Operand) - (toPrimitive(right, 'number') as Operand)
}

function multiply(left: unknown, right: unknown): unknown {
  return (toPrimitive(left, 'number') as Operand) * (toPrimitive(right, 'number') as Operand)
}

function divide(left: unknown, right: unknown): unknown {
  return (toPrimitive(left, 'number') as Operand) / (toPrimitive(right, 'number') as Operand)
}

function remainder(left: unknown, right: unknown): unknown {
  return (toPrimitive(left, 'number') as Operand) % (toPrimitive(right, 'number') as Operand)
}

function less(left: unknown, right: unknown): boolean {
  return (toPrimitive(left, 'number') as Operand) < (toPrimitive(right, 'number') as Operand)
}

function lessOrEqual(left: unknown, right: unknown): boolean {
  return (toPrimitive(left, 'number') as Operand) <= (toPrimitive(right, 'number') as Operand)
}

function greater(left: unknown, right: unknown): boolean {
  return (toPrimitive(left, 'number') as Operand) > (toPrimitive(right, 'number') as Operand)
}

function greaterOrEqual(left: unknown, right: unknown): boolean {
  return (toPrimitive(left, 'number') as Operand) >= (toPrimitive(right, 'number') as Operand)
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** `a == b`: two objects are equal when they are the same one. */
export function looseEquals(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (left === null || left === undefined) return right === null || right === undefined
  if (right === null || right === undefined) return false
  if (isObject(left)) return isObject(right) ? false : looseEquals(toPrimitive(left, 'string'), right)
  // deno-lint-ignore eqeqeq
  return left == (isObject(right) ? toPrimitive(right, 'string') : right)
}

/** What each operator does, by its sign. */
export const binaryOperators: Readonly<
  Record<BinaryOperator, (left: unknown, right: unknown) => unknown>
> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '%': remainder,
  '<': less,
  '<=': lessOrEqual,
  '>': greater,
  '>=': greaterOrEqual,
  '==': looseEquals,
  '!=': (left, right) => !looseEquals(left, right),
  '===': (left, right) => left === right,
  '!==': (left, right) => left !== right,
}
