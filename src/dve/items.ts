/** What loops run over. Only built-in methods run, never those of the data. */
import { countLoop, type RenderState } from './state.ts'

const getOwn = Object.getOwnPropertyDescriptor
const ownKeys = Object.keys

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
export function collectItems(state: RenderState, source: unknown): Items {
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
  for (let i = 0; i < keys.length; i++) values.push(getOwn(source, keys[i]!)?.value)
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
export function openCursor(state: RenderState, source: unknown, ahead: boolean): Cursor {
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
  // The result is ignored: the stream has ended, and a failure of the clean-up has no page to break.
  cursor.close = () => void asyncReturn.call(source).catch(() => {})
  return cursor
}
