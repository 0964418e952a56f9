/** `for await` over a stream. https://streams.spec.whatwg.org/#rs-asynciterator */
import type { ReaderState, StreamCore } from './stream_core.ts'
import { lock, readChunk, type ReadResult, unlock } from './stream_reader.ts'

interface IteratorState {
  readonly core: StreamCore
  readonly reader: ReaderState
  readonly preventCancel: boolean
  /** The step before, as steps wait for each other. */
  last: Promise<unknown>
  finished: boolean
}

const states = new WeakMap<object, IteratorState>()

async function step(state: IteratorState): Promise<ReadResult> {
  if (state.finished) return { value: undefined, done: true }
  try {
    const result = await readChunk(state.core)
    if (result.done) finish(state)
    return result
  } catch (error) {
    finish(state)
    throw error
  }
}

async function end(state: IteratorState, value: unknown): Promise<ReadResult> {
  if (state.finished) return { value, done: true }
  state.finished = true
  const cancelled = state.preventCancel ? undefined : state.core.cancel(value)
  unlock(state.core, state.reader)
  await cancelled
  return { value, done: true }
}

function finish(state: IteratorState): void {
  state.finished = true
  unlock(state.core, state.reader)
}

function chain(self: object, run: (state: IteratorState) => Promise<ReadResult>): Promise<ReadResult> {
  const state = states.get(self)
  if (state === undefined) return Promise.reject(new TypeError('Cannot step: this iterates no stream'))
  const next = state.last.then(() => run(state), () => run(state))
  state.last = next
  return next
}

const asyncIterator = Object.getPrototypeOf(
  Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())),
)

const prototype: object = Object.create(asyncIterator, {
  next: {
    enumerable: true,
    configurable: true,
    writable: true,
    value: function next(this: object) {
      return chain(this, step)
    },
  },
  return: {
    enumerable: true,
    configurable: true,
    writable: true,
    value: function (this: object, value?: unknown) {
      return chain(this, (state) => end(state, value))
    },
  },
})

/** Locks the stream and gives its chunks. */
export function iterate(core: StreamCore, preventCancel: boolean): AsyncIterableIterator<unknown> {
  const made = Object.create(prototype)
  states.set(made, { core, reader: lock(core), preventCancel, last: Promise.resolve(), finished: false })
  return made
}
