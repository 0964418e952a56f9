/**
 * What a readable stream and its default controller do. https://streams.spec.whatwg.org/#rs-default-controller-class
 *
 *   source --enqueue--> queue --read--> reader
 *          <---pull---
 */
import { toDictionary } from './webidl.ts'

/** How a reader is told what it asked for. */
export interface ReadRequest {
  chunk(value: unknown): void
  close(): void
  error(reason: unknown): void
}

/** What a reader waits for. */
export interface ReaderState {
  requests: ReadRequest[]
  closed: PromiseWithResolvers<undefined>
}

/** How much a stream may hold ready. */
export interface Strategy {
  readonly size: (chunk: unknown) => unknown
  readonly highWaterMark: number
}

/** Where a stream's chunks come from. */
export interface Source {
  readonly pull: () => unknown
  readonly cancel: (reason: unknown) => unknown
}

/** The strategy of a constructor's argument. Throws `RangeError` for a mark that is no number from 0. */
export function toStrategy(given: unknown): Strategy {
  const { highWaterMark, size } = toDictionary(given, 'a queuing strategy')
  const mark = highWaterMark === undefined ? 1 : Number(highWaterMark)
  if (size !== undefined && typeof size !== 'function') {
    throw new TypeError(`Cannot measure chunks by ${typeof size}: want a function`)
  }
  if (Number.isNaN(mark) || mark < 0) {
    throw new RangeError(`Cannot fill a stream to ${String(highWaterMark)}: want a number from 0`)
  }
  return { size: size === undefined ? () => 1 : (chunk) => size(chunk), highWaterMark: mark }
}

/** A promise whose rejection nobody need look at. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** Calls what a script gave; what it throws becomes a rejection. */
export function call(run: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(run())
  } catch (error) {
    return Promise.reject(error)
  }
}

const NO_SOURCE: Source = { pull: () => undefined, cancel: () => undefined }

export class StreamCore {
  state: 'readable' | 'closed' | 'errored' = 'readable'
  failure: unknown = undefined
  /** Somebody has read or cancelled it. */
  disturbed = false
  reader: ReaderState | null = null
  readonly #strategy: Strategy
  #source: Source
  #queue: { chunk: unknown; size: number }[] = []
  #held = 0
  #started = false
  #pulling = false
  #pullAgain = false
  #closing = false

  constructor(source: Source, strategy: Strategy) {
    this.#source = source
    this.#strategy = strategy
  }

  /** Waits for the source's `start` and begins to pull. */
  begin(started: unknown): void {
    Promise.resolve(started).then(() => {
      this.#started = true
      this.#pull()
    }, (error) => this.error(error))
  }

  get desiredSize(): number | null {
    if (this.state === 'errored') return null
    return this.state === 'closed' ? 0 : this.#strategy.highWaterMark - this.#held
  }

  get open(): boolean {
    return this.state === 'readable' && !this.#closing
  }

  enqueue(chunk: unknown): void {
    if (!this.open) throw new TypeError('Cannot add a chunk to a stream that is closed or broken')
    const request = this.reader?.requests.shift()
    if (request !== undefined) request.chunk(chunk)
    else {
      const size = this.#measure(chunk)
      this.#queue.push({ chunk, size })
      this.#held += size
    }
    this.#pull()
  }

  close(): void {
    if (!this.open) throw new TypeError('Cannot close a stream that is closed or broken')
    this.#closing = true
    if (this.#queue.length === 0) this.#finish()
  }

  error(reason: unknown): void {
    if (this.state !== 'readable') return
    this.#release()
    this.state = 'errored'
    this.failure = reason
    if (this.reader === null) return
    quiet(this.reader.closed.promise)
    this.reader.closed.reject(reason)
    for (const request of this.reader.requests.splice(0)) request.error(reason)
  }

  read(request: ReadRequest): void {
    this.disturbed = true
    if (this.state === 'closed') return request.close()
    if (this.state === 'errored') return request.error(this.failure)
    const first = this.#queue.shift()
    if (first === undefined) {
      this.reader!.requests.push(request)
      return this.#pull()
    }
    this.#held = this.#queue.length === 0 ? 0 : this.#held - first.size
    if (this.#closing && this.#queue.length === 0) this.#finish()
    else this.#pull()
    request.chunk(first.chunk)
  }

  async cancel(reason: unknown): Promise<void> {
    this.disturbed = true
    if (this.state === 'closed') return
    if (this.state === 'errored') throw this.failure
    const source = this.#source
    this.#finish()
    await call(() => source.cancel(reason))
  }

  #finish(): void {
    this.#release()
    this.state = 'closed'
    if (this.reader === null) return
    this.reader.closed.resolve(undefined)
    for (const request of this.reader.requests.splice(0)) request.close()
  }

  #release(): void {
    this.#queue = []
    this.#held = 0
    this.#source = NO_SOURCE
  }

  #measure(chunk: unknown): number {
    try {
      const size = Number(this.#strategy.size(chunk))
      if (size >= 0 && size !== Infinity) return size
      throw new RangeError(`Cannot add a chunk of size ${size}: want a finite number from 0`)
    } catch (error) {
      this.error(error)
      throw error
    }
  }

  #pull(): void {
    if (!this.open || !this.#started) return
    const wanted = (this.reader?.requests.length ?? 0) > 0 || this.desiredSize! > 0
    if (!wanted) return
    if (this.#pulling) {
      this.#pullAgain = true
      return
    }
    this.#pulling = true
    const { pull } = this.#source
    call(pull).then(() => {
      this.#pulling = false
      if (!this.#pullAgain) return
      this.#pullAgain = false
      this.#pull()
    }, (error) => this.error(error))
  }
}
