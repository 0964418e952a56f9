/** What generated code calls. Data is read as own data properties only, so none of its code runs but a proxy's traps. */
import { binaryOperators, looseEquals, negate, objectText, toNumber } from './operators.ts'
import type { LimitName } from './error.ts'

/** Limits of one render, and the deepest nesting of includes and layouts. */
export interface RenderLimits {
  readonly maxIterations: number
  readonly maxRenderIterations: number
  readonly maxOutputSize: number
}

/** Deepest nesting of open includes and layouts. */
export const MAX_INCLUDE_DEPTH = 64

/**
 * The state of one render. `place` indexes the program's places and is set before anything that may throw; `output` is used
 * by streams only.
 */
export interface RenderState {
  place: number
  iterations: number
  depth: number
  readonly limits: RenderLimits
  readonly maxOutput: number
  output: string
  sent: number
  loops: number
  readonly chunkSize: number
}

/** A limit was crossed; becomes a `TemplateError` with its place. */
export class LimitError extends Error {
  readonly limit: LimitName
  constructor(limit: LimitName, reason: string) {
    super(reason)
    this.limit = limit
  }
}

/** The start of a render. `chunkSize` is in characters. */
export function createState(
  limits: RenderLimits,
  maxOutput = limits.maxOutputSize,
  chunkSize = 0,
): RenderState {
  return {
    place: 0,
    iterations: 0,
    depth: 0,
    limits,
    maxOutput,
    output: '',
    sent: 0,
    loops: 0,
    chunkSize,
  }
}

const getOwn = Object.getOwnPropertyDescriptor
const ownKeys = Object.keys

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

/** The text of a value: nothing for null, undefined, functions and symbols. */
export function toText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'object':
      return value === null ? '' : objectText(value)
    case 'number':
    case 'boolean':
    case 'bigint':
      return '' + value
    default:
      return ''
  }
}

/** The text of a value with `& < > " '` as entities. Text without them is given back as it is. */
export function escapeValue(value: unknown): string {
  if (typeof value === 'number') return '' + value
  return escapeText(typeof value === 'string' ? value : toText(value))
}

/** Shorter text is looked at character by character; a search costs more to start and less to run. */
const SHORT_TEXT = 24
const SPECIAL = /[&<>"']/

function escapeText(text: string): string {
  const { length } = text
  if (length > SHORT_TEXT) {
    const at = text.search(SPECIAL)
    return at < 0 ? text : escapeFrom(text, at)
  }
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 62 && (code === 38 || code === 60 || code === 62 || code === 34 || code === 39)) {
      return escapeFrom(text, i)
    }
  }
  return text
}

function escapeFrom(text: string, first: number): string {
  let result = ''
  let from = 0
  for (let i = first; i < text.length; i++) {
    let entity: string
    switch (text.charCodeAt(i)) {
      case 38:
        entity = '&amp;'
        break
      case 60:
        entity = '&lt;'
        break
      case 62:
        entity = '&gt;'
        break
      case 34:
        entity = '&quot;'
        break
      case 39:
        entity = '&#39;'
        break
      default:
        continue
    }
    result += text.slice(from, i) + entity
    from = i + 1
  }
  return result + text.slice(from)
}

/** Counts `count` bodies of one loop. */
function countLoop(state: RenderState, count: number): void {
  const { maxIterations, maxRenderIterations } = state.limits
  if (typeof count !== 'number' || !(count <= maxIterations)) {
    throw new LimitError(
      'maxIterations',
      `Cannot run loop: it has ${typeof count === 'number' ? count : 'an odd number of'} items, ` +
        `want at most maxIterations ${maxIterations}`,
    )
  }
  if ((state.iterations += count) > maxRenderIterations) throw tooManyIterations(maxRenderIterations)
}

function tooManyIterations(limit: number): LimitError {
  return new LimitError(
    'maxRenderIterations',
    `Cannot go on: the render runs more loop bodies and includes than maxRenderIterations ${limit}`,
  )
}

/** Enters an include or a layout, which counts as one loop body. */
function enterInclude(state: RenderState, place: number): void {
  state.place = place
  if (++state.depth > MAX_INCLUDE_DEPTH) {
    throw new LimitError(
      'maxIncludeDepth',
      `Cannot include: includes nest deeper than ${MAX_INCLUDE_DEPTH} (maxIncludeDepth)`,
    )
  }
  if (++state.iterations > state.limits.maxRenderIterations) {
    throw tooManyIterations(state.limits.maxRenderIterations)
  }
}

/** The error for output that is over its limit. */
export function failOutput(state: RenderState, place = state.place): never {
  state.place = place
  throw new LimitError(
    'maxOutputSize',
    `Cannot go on: the output is longer than maxOutputSize ${state.maxOutput} characters`,
  )
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

/** What a loop runs over: values, and their keys when those are not the indexes. */
export interface Items {
  readonly values: readonly unknown[]
  readonly keys: readonly unknown[] | null
}

const NO_ITEMS: Items = { values: [], keys: null }
const generatorPrototype = Object.getPrototypeOf(function* () {}).prototype
const asyncGeneratorPrototype = Object.getPrototypeOf(async function* () {}).prototype
const isPrototypeOf = Object.prototype.isPrototypeOf
const generatorNext: (this: unknown) => IteratorResult<unknown> = generatorPrototype.next
const generatorReturn: (this: unknown) => unknown = generatorPrototype.return
const asyncNext: (this: unknown) => Promise<IteratorResult<unknown>> = asyncGeneratorPrototype.next
const asyncReturn: (this: unknown) => Promise<unknown> = asyncGeneratorPrototype.return
const mapForEach = Map.prototype.forEach
const setForEach = Set.prototype.forEach
const typedArrayLength: (this: unknown) => number = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  'length',
)!.get!

function isGenerator(value: object): boolean {
  return isPrototypeOf.call(generatorPrototype, value)
}

function isAsyncGenerator(value: object): boolean {
  return isPrototypeOf.call(asyncGeneratorPrototype, value)
}

/**
 * The items of anything but a plain array: own properties of an object, entries of a Map or Set, elements of a typed
 * array, what a generator yields. Everything else has none. Only built-in methods run, never those of the data.
 */
function collectItems(state: RenderState, source: unknown): Items {
  if (typeof source !== 'object' || source === null) return NO_ITEMS
  if (isGenerator(source)) return drainGenerator(state, source)
  if (isAsyncGenerator(source)) {
    throw new TypeError('Cannot run loop: the list is an async generator, want a stream or an array')
  }
  return collectEntries(source)
}

function collectEntries(source: object): Items {
  const values: unknown[] = []
  if (source instanceof Map || source instanceof Set) {
    const keys: unknown[] | null = source instanceof Map ? [] : null
    try {
      if (keys === null) setForEach.call(source, (value) => void values.push(value))
      else {
        mapForEach.call(source as Map<unknown, unknown>, (value, key) => {
          values.push(value)
          keys.push(key)
        })
      }
      return { values, keys }
    } catch {
      // Only looks like one: made with its prototype, or a proxy of one. Its own properties count.
    }
  }
  if (ArrayBuffer.isView(source) && !(source instanceof DataView)) {
    const length = typedArrayLength.call(source)
    for (let i = 0; i < length; i++) values.push((source as Uint8Array)[i])
    return { values, keys: null }
  }
  const keys = ownKeys(source)
  for (let i = 0; i < keys.length; i++) values.push(getOwn(source, keys[i])?.value)
  return { values, keys }
}

function drainGenerator(state: RenderState, source: object): Items {
  const values: unknown[] = []
  const { maxIterations } = state.limits
  for (;;) {
    const next = generatorNext.call(source)
    if (next.done) return { values, keys: null }
    values.push(next.value)
    if (values.length > maxIterations) {
      generatorReturn.call(source)
      countLoop(state, values.length)
    }
  }
}

/**
 * A loop of a stream. `advance` moves to the next item; a promise says that the item is not there yet. `close` ends the
 * source when the loop ends early.
 */
export interface Cursor {
  value: unknown
  key: unknown
  last: boolean
  readonly length: number | undefined
  done: boolean
  advance(): Promise<void> | undefined
  close(): void
}

/** Opens `source` for a loop. `ahead` reads one item ahead, so that `last` is known for a generator too. */
function openCursor(state: RenderState, source: unknown, ahead: boolean): Cursor {
  if (typeof source === 'object' && source !== null && !Array.isArray(source)) {
    if (isGenerator(source)) return generatorCursor(state, source, ahead)
    if (isAsyncGenerator(source)) return asyncCursor(state, source, ahead)
  }
  const { values, keys } = Array.isArray(source)
    ? { values: source, keys: null }
    : collectItems(state, source)
  const length = values.length
  countLoop(state, length)
  let index = -1
  const cursor: Cursor = {
    value: undefined,
    key: undefined,
    last: false,
    length,
    done: false,
    advance() {
      if (++index >= length) {
        cursor.done = true
        return
      }
      cursor.value = values[index]
      cursor.key = keys === null ? index : keys[index]
      cursor.last = index === length - 1
    },
    close() {},
  }
  return cursor
}

/** The parts that both kinds of generator share: what to do with a result of `next`. */
function createPull(state: RenderState, ahead: boolean): {
  cursor: Cursor
  accept: (next: IteratorResult<unknown>) => boolean
} {
  let index = 0
  let waiting: IteratorResult<unknown> | null = null
  const cursor: Cursor = {
    value: undefined,
    key: undefined,
    last: false,
    length: undefined,
    done: false,
    advance: () => undefined,
    close() {},
  }
  /** Takes one result; false when another one is needed to know whether this was the last. */
  function accept(next: IteratorResult<unknown>): boolean {
    const current = ahead ? waiting : next
    if (ahead) waiting = next
    if (current === null) return next.done === true ? (cursor.done = true) : false
    if (current.done) return (cursor.done = true)
    if (index >= state.limits.maxIterations) countLoop(state, index + 1)
    countLoop(state, 1)
    cursor.value = current.value
    cursor.key = index++
    cursor.last = ahead && next.done === true
    return true
  }
  return { cursor, accept }
}

function generatorCursor(state: RenderState, source: object, ahead: boolean): Cursor {
  const { cursor, accept } = createPull(state, ahead)
  cursor.advance = () => {
    while (!accept(generatorNext.call(source)));
    return undefined
  }
  cursor.close = () => void generatorReturn.call(source)
  return cursor
}

function asyncCursor(state: RenderState, source: object, ahead: boolean): Cursor {
  const { cursor, accept } = createPull(state, ahead)
  cursor.advance = async () => {
    while (!accept(await asyncNext.call(source)));
  }
  // The answer is nobody's: the stream has ended, and a failure of the clean-up has no page to break.
  cursor.close = () => void asyncReturn.call(source).catch(() => {})
  return cursor
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
