/** The reader and the controller of a stream, as scripts see them. */
import { quiet, type ReaderState, type StreamCore } from './stream_core.ts'
import { type Class, expose } from './webidl.ts'

/** A result of `read`. */
export type ReadResult = { value: unknown; done: boolean }

/** Given to a source, which adds chunks by it. */
export class ReadableStreamDefaultController {
  readonly #core: StreamCore

  constructor(core?: unknown) {
    if (core === null || typeof core !== 'object' || !('enqueue' in core)) {
      throw new TypeError('Illegal constructor: ReadableStreamDefaultController')
    }
    this.#core = core as StreamCore
  }

  get desiredSize(): number | null {
    return this.#core.desiredSize
  }

  close(): void {
    this.#core.close()
  }

  enqueue(chunk?: unknown): void {
    this.#core.enqueue(chunk)
  }

  error(reason?: unknown): void {
    this.#core.error(reason)
  }
}

expose(ReadableStreamDefaultController, 'ReadableStreamDefaultController')

/** Locks a stream's core. Throws `TypeError` when it is locked. */
export function lock(core: StreamCore): ReaderState {
  if (core.reader !== null) throw new TypeError('Cannot read a stream that is locked to another reader')
  const closed = Promise.withResolvers<undefined>()
  const state = core.reader = { requests: [], closed }
  if (core.state === 'closed') closed.resolve(undefined)
  else if (core.state === 'errored') {
    quiet(closed.promise)
    closed.reject(core.failure)
  }
  return state
}

/** Ends a lock; what was asked for and has not come is refused. */
export function unlock(core: StreamCore, state: ReaderState): void {
  const reason = new TypeError('The reader has been released')
  if (core.state !== 'readable') state.closed = Promise.withResolvers()
  quiet(state.closed.promise)
  state.closed.reject(reason)
  core.reader = null
  for (const request of state.requests.splice(0)) request.error(reason)
}

/** The next chunk of a locked core. */
export function readChunk(core: StreamCore): Promise<ReadResult> {
  return new Promise((resolve, reject) => {
    core.read({
      chunk: (value) => resolve({ value, done: false }),
      close: () => resolve({ value: undefined, done: true }),
      error: reject,
    })
  })
}

/** Defines the reader's class; `coreOf` finds the core of what is a stream. */
export function defineReader(coreOf: (stream: unknown) => StreamCore | undefined): Class {
  class ReadableStreamDefaultReader {
    #core: StreamCore | null
    readonly #state: ReaderState

    constructor(stream: unknown) {
      const core = coreOf(stream)
      if (core === undefined) throw new TypeError('Cannot read what is no ReadableStream')
      this.#state = lock(core)
      this.#core = core
    }

    get closed(): Promise<undefined> {
      return this.#state.closed.promise
    }

    cancel(reason?: unknown): Promise<void> {
      return this.#core === null ? Promise.reject(released('cancel')) : this.#core.cancel(reason)
    }

    read(): Promise<ReadResult> {
      return this.#core === null ? Promise.reject(released('read')) : readChunk(this.#core)
    }

    releaseLock(): void {
      if (this.#core === null) return
      unlock(this.#core, this.#state)
      this.#core = null
    }
  }
  return expose(ReadableStreamDefaultReader, 'ReadableStreamDefaultReader')
}

function released(what: string): TypeError {
  return new TypeError(`Cannot ${what}: the reader has been released`)
}
