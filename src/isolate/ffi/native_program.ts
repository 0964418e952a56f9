/** Programs that were booted and snapshotted. */
import { toNativeError } from './errors.ts'
import { BootError, ClosedError } from '../machines/errors.ts'
import { STATUSES } from './layout.ts'
import type { NativeLibrary } from './library.ts'
import { encodeSpec, type LoadSpec, type ProgramSpec, type StoredSpec } from './spec.ts'

/** How a boot went. */
export interface BootReport {
  /** Microseconds until the program waited for its first request. */
  readonly bootUs: number
  /** Microseconds of the warm-up. */
  readonly warmupUs: number
  readonly warmupRequests: number
  /** Times that the guest left ring 3. */
  readonly exits: number
  /** Guest memory in use at the snapshot. */
  readonly memoryBytes: number
  /** Host memory that the snapshot itself takes: of one that was loaded into a base, what differs from that. */
  readonly ownBytes: number
  /** Of each rehearsed frame that ran and that a fork answered too. */
  readonly trials: readonly Trial[]
  /** Indices of the frames whose last answer told of an error, and whose answer in a fork does, or that have none there. */
  readonly failing: readonly number[]
}

/** A warm-up frame before the snapshot and in a fork of it; the quickest of a few runs. */
export interface Trial {
  /** Index of the frame. */
  readonly entry: number
  /** Microseconds of CPU time before the snapshot; 0 for a frame that ran in forks only. */
  readonly warmUs: number
  /** Microseconds of CPU time in the fork. */
  readonly runUs: number
  readonly resetUs: number
  readonly dirtyPages: number
  /** The answer in the fork tells of an error. */
  readonly failed: boolean
}

interface BootFailure {
  readonly message: string
  readonly entry: number | null
}

/** What a boot may take over its own limit, in milliseconds: for its thread to end it and report. */
const BOOT_GRACE_MS = 10_000
/** Of words on why something failed. */
const WORDS_BYTES = 4096
/** Longest time to read a file. */
const OPEN_MS = 60_000
/** Of one call of `NativeProgram.time`. */
const MOST_TIMES = 1 << 15

/**
 * A snapshot that pools run. Close it when its requests are done (`NativePool.retire` waits for them), else its memory stays.
 */
export class NativeProgram {
  readonly report: BootReport
  readonly #library: NativeLibrary
  readonly #handle: number
  #open = true
  #pending = 0
  #idle: PromiseWithResolvers<void> | null = null

  private constructor(library: NativeLibrary, handle: number) {
    this.#library = library
    this.#handle = handle
    const { mayfly_program_text } = library.symbols
    this.report = JSON.parse(
      library.readText((text, capacity) => mayfly_program_text(handle, text, capacity)),
    )
  }

  /**
   * Boots a program, or loads one into a base, on a thread of its own, warms it up and takes the snapshot. Rejects with `BootError`,
   * `IsolationUnavailableError` or `NativeError`; with `ClosedError` once `signal` has ended it, before its next warm-up request.
   * With a `key` it is the program that any isolate of the process booted with that key, where there is one.
   */
  static async boot(
    library: NativeLibrary,
    spec: ProgramSpec | LoadSpec,
    signal?: AbortSignal,
    key = '',
  ): Promise<NativeProgram> {
    return await NativeProgram.#begin(library, spec, spec.limits.bootMs, signal, key)
  }

  /**
   * Goes on with a program that was saved; `key` is as for {@link boot}. Rejects with `NativeError`, whose status is `missing` where there
   * is no such file and `stale` where it is of no use here, and as {@link boot} does.
   */
  static async open(library: NativeLibrary, spec: StoredSpec, key = ''): Promise<NativeProgram> {
    return await NativeProgram.#begin(library, spec, OPEN_MS, undefined, key)
  }

  static async #begin(
    library: NativeLibrary,
    spec: ProgramSpec | LoadSpec | StoredSpec,
    ms: number,
    signal: AbortSignal | undefined,
    key: string,
  ): Promise<NativeProgram> {
    const description = encodeSpec(spec)
    const keyBytes = new TextEncoder().encode(key)
    const {
      mayfly_program_boot,
      mayfly_program_call_off,
      mayfly_program_wait,
      mayfly_program_free,
      mayfly_program_text,
    } = library.symbols
    if (signal?.aborted) throw new ClosedError('program')
    const handle = library.check(
      mayfly_program_boot(description, description.length, keyBytes, keyBytes.length),
    )
    const callOff = () => void mayfly_program_call_off(handle)
    signal?.addEventListener('abort', callOff, { once: true })
    try {
      const wait = Math.min(0xffffffff, ms + BOOT_GRACE_MS)
      const status = await mayfly_program_wait(handle, wait)
      if (status >= 0) return new NativeProgram(library, handle)
      if (status === STATUSES['not-ready']) {
        throw toNativeError(status, `Boot a program: not done in ${wait} ms`)
      }
      const failure: BootFailure = JSON.parse(
        library.readText((text, capacity) => mayfly_program_text(handle, text, capacity)),
      )
      const error = toNativeError(status, failure.message)
      throw error instanceof BootError ? new BootError(failure.message, failure.entry) : error
    } catch (error) {
      mayfly_program_free(handle)
      throw error
    } finally {
      signal?.removeEventListener('abort', callOff)
    }
  }

  /** The number that native calls know it by. Throws `ClosedError` after {@link close}. */
  get handle(): number {
    if (!this.#open) throw new ClosedError('program')
    return this.#handle
  }

  /** Isolates of the process that hold it. */
  get holders(): number {
    return this.#library.check(this.#library.symbols.mayfly_program_holders(this.handle))
  }

  /** Whether it takes requests. */
  get open(): boolean {
    return this.#open
  }

  /** The last answer to the warm-up frame at `index`, which must have said `tell`. */
  answer(index: number): Uint8Array<ArrayBuffer> {
    const { mayfly_program_answer } = this.#library.symbols
    const handle = this.handle
    return this.#library.readBytes((bytes, capacity) => mayfly_program_answer(handle, index, bytes, capacity))
  }

  /**
   * Writes it to a file that only this user may read, with all that it holds in memory, unless it lies there already; the folder keeps at
   * most `mostMb` MiB. `base` is the program that it was loaded into: what lies in that one's file is left out. Rejects with `NativeError`.
   */
  async save(
    { path, notes, mostMb }: { path: string; notes: Uint8Array<ArrayBuffer>; mostMb: number },
    base: NativeProgram | null = null,
  ): Promise<void> {
    const { mayfly_program_save } = this.#library.symbols
    const file = new TextEncoder().encode(path)
    const words = new Uint8Array(WORDS_BYTES)
    const status = await mayfly_program_save(
      this.handle,
      base?.handle ?? 0,
      file,
      file.length,
      notes,
      notes.length,
      mostMb,
      words,
      words.length,
    )
    if (status === 0) return
    const text = new TextDecoder().decode(words.subarray(0, Math.max(0, status)))
    throw toNativeError(status < 0 ? status : STATUSES.system, text)
  }

  /** What {@link save} wrote beside a program that came from a file; empty for others. */
  notes(): Uint8Array<ArrayBuffer> {
    const { mayfly_program_notes } = this.#library.symbols
    const handle = this.handle
    return this.#library.readBytes((bytes, capacity) => mayfly_program_notes(handle, bytes, capacity))
  }

  /**
   * Runs the request again and again in one fork, for so many milliseconds, and gives the microseconds of CPU time of each run from its frame to its
   * answer, resets and the first half left out; {@link MOST_TIMES} at most. For benchmarks: the calling thread waits. Throws
   * `NativeError` for a request without an answer.
   */
  time(frame: Uint8Array<ArrayBuffer>, ms: number): number[] {
    const { mayfly_program_time } = this.#library.symbols
    const times = new BigUint64Array(MOST_TIMES)
    const bytes = new Uint8Array(times.buffer)
    const count = this.#library.check(
      mayfly_program_time(this.handle, frame, frame.length, Math.ceil(ms), bytes, bytes.length),
    )
    return Array.from(times.subarray(0, count), (ns) => Number(ns) / 1000)
  }

  /** A pool counts a request in. */
  begin(): void {
    this.#pending++
  }

  /** A pool counts a request out. */
  end(): void {
    this.#pending--
    if (this.#pending === 0) this.#idle?.resolve()
  }

  /**
   * Refuses further requests, waits for those under way, and frees the snapshot after `last` has run with its handle. A second
   * time waits and does nothing.
   */
  async close(last: (handle: number) => void = () => {}): Promise<void> {
    const first = this.#open
    this.#open = false
    if (this.#pending > 0) {
      this.#idle ??= Promise.withResolvers()
      await this.#idle.promise
    }
    if (!first) return
    try {
      last(this.#handle)
    } finally {
      this.#library.symbols.mayfly_program_free(this.#handle)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
