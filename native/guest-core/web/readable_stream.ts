/**
 * Readable streams of chunks. https://streams.spec.whatwg.org/#rs-class
 * Byte streams, pipes and writable streams are left out: what a handler streams is gathered before it is sent.
 */
import { host } from './host.ts'
import { refuse } from './missing.ts'
import { call, type Strategy, StreamCore, toStrategy } from './stream_core.ts'
import { iterate } from './stream_iterator.ts'
import { defineReader, lock, ReadableStreamDefaultController, readChunk } from './stream_reader.ts'
import { expose, need, toDictionary } from './webidl.ts'

/** Makes a stream over a core. */
const KEY = Symbol('ReadableStream')
const PULLED: Strategy = { size: () => 1, highWaterMark: 0 }

type Callback = (this: unknown, argument: unknown) => unknown

/** The core of a stream; undefined for what is none. */
export let coreOf: (stream: unknown) => StreamCore | undefined

export class ReadableStream {
  readonly #core: StreamCore

  static {
    coreOf = (stream) =>
      stream !== null && typeof stream === 'object' && #core in stream ? stream.#core : undefined
  }

  constructor(source?: unknown, strategy?: unknown) {
    if (source === KEY) {
      this.#core = strategy as StreamCore
      return
    }
    if (source === null) throw new TypeError('Cannot make a stream of null')
    const given = toDictionary(source, 'the source of a stream')
    const { start, pull, cancel, type } = given
    if (type !== undefined) {
      if (`${type}` === 'bytes') throw refuse('A ReadableStream of bytes')
      throw new TypeError(`Cannot make a stream of the type ${String(type)}`)
    }
    for (const member of [start, pull, cancel]) {
      if (member !== undefined && typeof member !== 'function') {
        throw new TypeError(
          `Cannot make a stream: a member of its source is ${typeof member}, want a function`,
        )
      }
    }
    const run = (member: unknown, argument: unknown): unknown =>
      member === undefined ? undefined : (member as Callback).call(given, argument)
    const core: StreamCore = new StreamCore({
      pull: () => run(pull, controller),
      cancel: (reason) => run(cancel, reason),
    }, toStrategy(strategy))
    const controller = new ReadableStreamDefaultController(core)
    this.#core = core
    core.begin(run(start, controller))
  }

  static from(iterable: unknown): ReadableStream {
    need(arguments.length, 1, 'ReadableStream.from')
    const iterator = toIterator(iterable)
    const core = new StreamCore({
      pull: async () => {
        const result = await iterator.next()
        if (Object(result) !== result) throw new TypeError('Cannot read an iterator: its result is no object')
        if (result.done) core.close()
        else core.enqueue(await result.value)
      },
      cancel: async (reason) => {
        await iterator.return?.(reason)
      },
    }, PULLED)
    core.begin(undefined)
    return new ReadableStream(KEY, core)
  }

  get locked(): boolean {
    return this.#core.reader !== null
  }

  cancel(reason?: unknown): Promise<void> {
    if (this.locked) return Promise.reject(new TypeError('Cannot cancel a stream that is locked'))
    return this.#core.cancel(reason)
  }

  getReader(options?: unknown): object {
    const { mode } = toDictionary(options, 'the options of getReader')
    if (mode !== undefined && `${mode}` === 'byob') throw refuse('ReadableStream.getReader of a buffer')
    if (mode !== undefined) throw new TypeError(`Cannot read a stream in the mode ${String(mode)}`)
    return new ReadableStreamDefaultReader(this)
  }

  pipeThrough(_transform: unknown, _options?: unknown): never {
    throw refuse('ReadableStream.pipeThrough')
  }

  pipeTo(_destination: unknown, _options?: unknown): Promise<never> {
    return Promise.reject(refuse('ReadableStream.pipeTo'))
  }

  tee(): [ReadableStream, ReadableStream] {
    return tee(this.#core).map((core) => new ReadableStream(KEY, core)) as [ReadableStream, ReadableStream]
  }

  values(options?: unknown): AsyncIterableIterator<unknown> {
    const { preventCancel } = toDictionary(options, 'the options of values')
    return iterate(this.#core, Boolean(preventCancel))
  }

  declare [Symbol.asyncIterator]: () => AsyncIterableIterator<unknown>
}

expose(ReadableStream, 'ReadableStream')
Object.defineProperty(ReadableStream.prototype, Symbol.asyncIterator, {
  value: ReadableStream.prototype.values,
  writable: true,
  configurable: true,
})

export const ReadableStreamDefaultReader = defineReader(coreOf!) as unknown as new (stream: unknown) => object

/** A stream of one chunk, or none. */
export function streamOf(bytes: Uint8Array): ReadableStream {
  const core = new StreamCore({ pull: () => undefined, cancel: () => undefined }, PULLED)
  if (bytes.length > 0) core.enqueue(bytes)
  core.close()
  return new ReadableStream(KEY, core)
}

/** All chunks of a stream, which must not be locked. */
export async function readAll(stream: ReadableStream): Promise<unknown[]> {
  const core = coreOf(stream)!
  lock(core)
  const chunks: unknown[] = []
  for (let result = await readChunk(core); !result.done; result = await readChunk(core)) {
    chunks.push(result.value)
  }
  return chunks
}

function toIterator(iterable: unknown): AsyncIterator<unknown> | Iterator<unknown> {
  const given = iterable as { [Symbol.asyncIterator]?: unknown; [Symbol.iterator]?: unknown } | null
  const method = given?.[Symbol.asyncIterator] ?? given?.[Symbol.iterator]
  if (typeof method !== 'function') throw new TypeError('Cannot make a stream of what is not iterable')
  return method.call(given)
}

/** Two streams of the chunks of one; it is cancelled when both are. */
function tee(core: StreamCore): [StreamCore, StreamCore] {
  const reader = lock(core)
  const cancelled = Promise.withResolvers<void>()
  const reasons: unknown[] = []
  const gone = [false, false]
  let reading = false
  let again = false
  const pull = (): void => {
    if (reading) {
      again = true
      return
    }
    reading = true
    core.read({
      chunk: (value) =>
        host.microtask(() => {
          again = false
          branches.forEach((branch, index) => {
            if (!gone[index] && branch.open) branch.enqueue(value)
          })
          reading = false
          if (again) pull()
        }),
      close: () => {
        reading = false
        branches.forEach((branch, index) => {
          if (!gone[index] && branch.open) branch.close()
        })
        if (!gone[0] || !gone[1]) cancelled.resolve()
      },
      error: () => {
        reading = false
      },
    })
  }
  const cancel = (index: number, reason: unknown): Promise<void> => {
    gone[index] = true
    reasons[index] = reason
    if (gone[0] && gone[1]) call(() => core.cancel(reasons)).then(() => cancelled.resolve(), cancelled.reject)
    return cancelled.promise
  }
  const branches = [0, 1].map((index) =>
    new StreamCore({ pull, cancel: (reason) => cancel(index, reason) }, { size: () => 1, highWaterMark: 1 })
  ) as [StreamCore, StreamCore]
  reader.closed.promise.catch((error) => {
    for (const branch of branches) branch.error(error)
    if (!gone[0] || !gone[1]) cancelled.resolve()
  })
  for (const branch of branches) branch.begin(undefined)
  return branches
}
