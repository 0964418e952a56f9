/** What generated code calls. Data is read as own data properties only, so none of its code runs but a proxy's traps. */
import { escapeValue, toText } from './escape.ts'
import { collectItems, openCursor } from './items.ts'
import { binaryOperators, looseEquals, negate, toNumber } from './operators.ts'
import { countLoop, enterInclude, failOutput, type RenderState } from './state.ts'

const getOwn = Object.getOwnPropertyDescriptor

/** `object.key` when that is an own data property, or the length or a character of a string; else undefined. */
function readProperty(object: unknown, key: string | number): unknown {
  if (typeof object === 'object') {
    return object === null ? undefined : getOwn(object, key)?.value
  }
  return typeof object === 'string' ? getOwn(object, key)?.value : undefined
}

/** `object[key]` for a key that is computed: a string, a number or another primitive that JavaScript turns into one. */
function readIndex(object: unknown, key: unknown): unknown {
  if (typeof key === 'string' || typeof key === 'number') return readProperty(object, key)
  if (typeof key === 'object' && key !== null) return undefined
  if (typeof key === 'function' || typeof key === 'symbol') return undefined
  return readProperty(object, String(key))
}

function applyFilter(
  state: RenderState,
  filter: (value: unknown) => unknown,
  value: unknown,
  place: number,
): unknown {
  state.place = place
  const result = filter(value)
  if (result instanceof Promise) {
    result.catch(() => {})
    throw new TypeError('Cannot apply filter: it returned a promise, want a value')
  }
  return result
}

/** What a bare `@parent` is inside a nested loop; `index` is undefined outside one. */
function parentRecord(
  index: unknown,
  first: unknown,
  last: unknown,
  length: unknown,
  key: unknown,
): unknown {
  return index === undefined ? undefined : { __proto__: null, index, first, last, length, key }
}

/** True when a stream should hand over what it has: a full chunk, or anything at a boundary outside all loops. */
function isFlushDue(state: RenderState): boolean {
  const { length } = state.output
  if (length + state.sent > state.maxOutput) failOutput(state)
  return length >= (state.loops === 0 ? 1 : state.chunkSize)
}

/** Every helper by the short name that generated code uses. */
export const helpers = Object.freeze({
  g: readProperty,
  x: readIndex,
  t: toText,
  e: escapeValue,
  A: Array.isArray,
  C: collectItems,
  L: countLoop,
  I: enterInclude,
  V: failOutput,
  f: applyFilter,
  P: parentRecord,
  W: openCursor,
  Y: isFlushDue,
  add: binaryOperators['+'],
  sub: binaryOperators['-'],
  mul: binaryOperators['*'],
  div: binaryOperators['/'],
  rem: binaryOperators['%'],
  lt: binaryOperators['<'],
  le: binaryOperators['<='],
  gt: binaryOperators['>'],
  ge: binaryOperators['>='],
  eq: looseEquals,
  neg: negate,
  pos: toNumber,
})
