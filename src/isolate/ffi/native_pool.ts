/** A pool of virtual machines: requests in by a call that never blocks, answers out by one call that waits. */
import type { Awaitable } from '../../context/types.ts'
import { NativeError, toNativeError } from './errors.ts'
import { ClosedError, type MachinesError } from '../machines/errors.ts'
import {
  CHECK,
  COMPLETION,
  COMPLETION_BYTES,
  FLOW_SHIFT,
  KEEP,
  LATE,
  MACHINES,
  OUTCOMES,
  PARTS,
  SAID,
  WEIGHT_SHIFT,
} from './layout.ts'
import type { NativeLibrary } from './library.ts'
import { checkCount } from './count.ts'
import { type BusyPoll, createBusyPoll, noteAnswer, noteLate, shouldBusyPoll } from './busy_poll.ts'
import type { Completion, Denial, SubmitOptions } from '../machines/completion.ts'
import type { HostChannel, HostMessage } from '../machines/host_channel.ts'
import { DEFAULT_PARKED, type ParkedLimits } from '../machines/machines.ts'
import type { NativeProgram } from './native_program.ts'
import { IDLE_MS, lookForIdle } from './idle_machines.ts'
import { nextRecords } from './next_records.ts'
import { PendingResets } from './pending_resets.ts'
import type { PoolStatistics } from './pool_statistics.ts'
import type { NativeSymbols } from './symbols.ts'
import { SlowRequests, type Watched } from './slow_requests.ts'
import { endTalk, hearAll, type Talk } from './talk.ts'
import { encodeMessage } from '../wire/message_frame.ts'

/** Sizes of a pool. */
export interface PoolOptions {
  /** Threads, each with a machine for every program in use. */
  readonly workers: number
  /** Requests that may wait. */
  readonly queue: number
  /** Requests with a channel that may be under way at once, and their memory. */
  readonly parked?: ParkedLimits | undefined
  /** Longest wait of the calling thread for a request that is short and alone, in microseconds; 0 for never, default 400. */
  readonly busyPollUs?: number
  /** Pools of equal keys and sizes in any isolate of the process are one; default: a pool of its own. */
  readonly key?: string
}

interface Pending extends Watched {
  readonly program: NativeProgram
  readonly resolve: (completion: Completion) => void
  readonly reject: (error: Error) => void
  talk: Talk | null
  /** Makes its channel, when it says something. */
  readonly late: (() => HostChannel) | null
}

/** Completions taken by one wait, and the longest: while requests are under way another follows. */
const BATCH = 64
const WAIT_US = 5_000_000
const BUSY_POLL_US = 400
/** Longer answers are fetched by another call. */
const ANSWER_BYTES = 64 << 10
/** Room for messages that are heard together: more than the longest. */
const HEARD_BYTES = 2 << 20
/** The ticket where nothing was done yet. */
const NO_TICKET = -1
/** A ticket's low bits are the index of its slot. */
const SLOT_MASK = 0xffff
const NOTHING = new Uint8Array(0)
const NO_DENIALS: readonly Denial[] = Object.freeze([])
const decoder = new TextDecoder()

/** Index in an array of 4-byte numbers. */
const WORD = (field: keyof typeof COMPLETION) => COMPLETION[field][0] / 4
/** Index in an array of 8-byte numbers. */
const LONG = (field: keyof typeof COMPLETION) => COMPLETION[field][0] / 8
const WORDS = COMPLETION_BYTES / 4
const LONGS = COMPLETION_BYTES / 8
const TICKET = WORD('ticket')
const OUTCOME = WORD('outcome')
const EXITS = WORD('exits')
const DIRTY_PAGES = WORD('dirty_pages')
const RESPONSE_BYTES = WORD('response_bytes')
const LOG_BYTES = WORD('log_bytes')
const MESSAGE_BYTES = WORD('message_bytes')
const DENIALS_BYTES = WORD('denials_bytes')
const LOG_DROPPED = WORD('log_dropped')
const DETAIL = WORD('detail')
const WORKER = WORD('worker')
const QUEUE_US = LONG('queue_us')
const RUN_US = LONG('run_us')
const RESET_US = LONG('reset_us')
const MACHINE = WORD('machine')
const PARKED_US = LONG('parked_us')
const PARKS = WORD('parks')
const MESSAGES_SAID = WORD('said')
const MESSAGES_HEARD = WORD('heard')

/**
 * Worker threads with machines. A native wait is under way only while requests are, so an idle pool does not keep the process
 * alive.
 */
export class NativePool {
  readonly #library: NativeLibrary
  readonly #symbols: NativeSymbols
  readonly #handle: number
  readonly #pending: (Pending | undefined)[] = []
  readonly #busyPoll: BusyPoll
  readonly #resets: PendingResets
  readonly #endLooks: () => void
  readonly #slow = new SlowRequests(this.#pending, (ticket) => this.#callOff(ticket))
  #outstanding = 0
  #drain: Promise<void> | null = null
  #closing: Promise<void> | null = null
  #broken: MachinesError | null = null
  readonly #records = new ArrayBuffer(BATCH * COMPLETION_BYTES)
  readonly #bytes = new Uint8Array(this.#records)
  readonly #words = new Uint32Array(this.#records)
  readonly #signed = new Int32Array(this.#records)
  readonly #longs = new Float64Array(this.#records)
  /** Where an answer is put that the thread looks for. */
  readonly #answer = new Uint8Array(ANSWER_BYTES)
  /** Where messages are put; made for the first. */
  #heard: Uint8Array<ArrayBuffer> | null = null

  /** Starts the threads. */
  constructor(
    library: NativeLibrary,
    { workers, queue, parked = DEFAULT_PARKED, busyPollUs = BUSY_POLL_US, key = '' }: PoolOptions,
  ) {
    this.#library = library
    this.#symbols = library.symbols
    this.#busyPoll = createBusyPoll(busyPollUs)
    const keyBytes = new TextEncoder().encode(key)
    this.#handle = library.check(
      this.#symbols.mayfly_pool_start(
        checkCount(workers),
        checkCount(queue),
        checkCount(parked.each),
        checkCount(parked.all),
        checkCount(parked.eachMb),
        checkCount(parked.allMb),
        keyBytes,
        keyBytes.length,
      ),
    )
    this.#resets = new PendingResets(
      (records, most) => library.check(this.#symbols.mayfly_resets(this.#handle, records, most)),
      (error) => this.#break(error),
    )
    this.#endLooks = lookForIdle(() => this.dropIdle(IDLE_MS))
  }

  /** Requests that were submitted and are not settled. */
  get outstanding(): number {
    return this.#outstanding
  }

  /** How many isolates share it. */
  get members(): number {
    this.#checkOpen()
    return this.#library.check(this.#symbols.mayfly_pool_members(this.#handle))
  }

  /** Bytes that every isolate that shares it knows, and nobody else. */
  secret(): Uint8Array<ArrayBuffer> {
    const { mayfly_pool_secret } = this.#symbols
    return this.#library.readBytes((bytes, capacity) => mayfly_pool_secret(this.#handle, bytes, capacity))
  }

  /** Workers that have forked a program. */
  prepared(program: NativeProgram): number {
    this.#checkOpen()
    return this.#library.check(this.#symbols.mayfly_pool_prepared(this.#handle, program.handle))
  }

  /** Makes every worker fork a program ahead of its first request, one after the other. */
  prepare(program: NativeProgram): void {
    this.#checkOpen()
    this.#library.check(this.#symbols.mayfly_pool_prepare(this.#handle, program.handle))
  }

  /** Makes every worker drop the machines that no request came for in so many milliseconds, but for those that hold a program's state. */
  dropIdle(leastMs: number): void {
    if (this.#broken !== null || this.#closing !== null) return
    this.#library.check(this.#symbols.mayfly_pool_drop_idle(this.#handle, leastMs))
  }

  /**
   * Runs a request frame, and gives its completion, or a promise of it. Whatever becomes of the request in its machine, the promise is
   * fulfilled; it is rejected when the pool breaks. Throws at once: `QueueFullError`, `ClosedError`, `RangeError` for a time that is
   * no time.
   */
  submit(
    program: NativeProgram,
    frame: Uint8Array<ArrayBuffer>,
    { timeoutMs, keep = false, flow = 0, weight = 1, check = false, channel, lateChannel, slow }:
      SubmitOptions,
  ): Awaitable<Completion> {
    this.#checkOpen()
    const timeoutUs = Math.ceil(timeoutMs * 1000)
    if (!(timeoutUs >= 1 && timeoutUs <= 0xffffffff)) {
      throw new RangeError(`Cannot submit a request: timeout of ${timeoutMs} ms, want 0.001 to 4294967`)
    }
    const late = lateChannel === undefined ? 0 : LATE
    const flags = (keep ? KEEP : 0) + (check ? CHECK : 0) + late + (weight - 1) * 2 ** WEIGHT_SHIFT +
      flow * 2 ** FLOW_SHIFT
    const { handle } = program
    if (channel !== undefined) return this.#open(program, frame, timeoutUs, flags, channel, slow)
    // A wait that has not come back yet fills the records.
    const polls = shouldBusyPoll(this.#busyPoll, this.#outstanding === 0) && this.#drain === null
    const ticket = polls
      ? this.#symbols.mayfly_ask(
        this.#handle,
        handle,
        frame,
        frame.length,
        timeoutUs,
        flags,
        this.#busyPoll.mostUs,
        this.#bytes,
        this.#answer,
        ANSWER_BYTES,
      )
      : this.#symbols.mayfly_submit(this.#handle, handle, frame, frame.length, timeoutUs, flags)
    if (ticket < 0) this.#library.check(ticket)
    if (polls) {
      if (this.#signed[TICKET] !== NO_TICKET) return this.#takeNow(ticket)
      noteLate(this.#busyPoll)
    }
    const promise = this.#expect(program, ticket, lateChannel ?? null, slow)
    this.#drain ??= this.#takeAll()
    return promise
  }

  /** Submits a request with a channel. */
  #open(
    program: NativeProgram,
    frame: Uint8Array<ArrayBuffer>,
    timeoutUs: number,
    flags: number,
    channel: HostChannel,
    slow: Watched['slow'],
  ): Promise<Completion> {
    const ticket = this.#library.check(
      this.#symbols.mayfly_open(this.#handle, program.handle, frame, frame.length, timeoutUs, flags),
    )
    const promise = this.#expect(program, ticket, null, slow)
    this.#pending[ticket & SLOT_MASK]!.talk = this.#begin(ticket, channel)
    this.#drain ??= this.#takeAll()
    return promise
  }

  /** Begins to listen for a channel. */
  #begin(ticket: number, channel: HostChannel): Talk {
    const { mayfly_extend } = this.#symbols
    const { signal } = channel
    const callOff = () => this.#callOff(ticket)
    const talk: Talk = {
      channel,
      say: (message) => this.#say(ticket, talk, message),
      extend: (ms) => {
        if (this.#pending[ticket & SLOT_MASK]?.talk !== talk) return
        this.#library.check(mayfly_extend(this.#handle, ticket, Math.min(0xffffffff, Math.ceil(ms))))
      },
      failure: null,
      release: () => signal?.removeEventListener('abort', callOff),
    }
    if (signal?.aborted) callOff()
    else signal?.addEventListener('abort', callOff)
    return talk
  }

  #callOff(ticket: number): void {
    this.#library.check(this.#symbols.mayfly_call_off(this.#handle, ticket))
  }

  #say(ticket: number, talk: Talk, message: HostMessage): boolean {
    const frame = encodeMessage(message)
    if (this.#pending[ticket & SLOT_MASK]?.talk !== talk) return false
    return this.#library.check(this.#symbols.mayfly_say(this.#handle, ticket, frame, frame.length)) === 1
  }

  /** Hands the messages that wait to the channel of their request. */
  #hear(ticket: number): void {
    const pending = this.#pending[ticket & SLOT_MASK]
    const late = pending?.late ?? null
    if (pending !== undefined && late !== null) pending.talk ??= this.#begin(ticket, late())
    const talk = pending?.talk ?? null
    if (talk === null) {
      throw new NativeError('panic', `Cannot hear ticket ${ticket}: it has no channel, want one that has`)
    }
    const room = this.#heard ??= new Uint8Array(HEARD_BYTES)
    for (;;) {
      const count = this.#library.check(
        this.#symbols.mayfly_hear(this.#handle, ticket, room, HEARD_BYTES),
      )
      if (count === 0) return
      if (!hearAll(talk, room.slice(0, count))) this.#callOff(ticket)
    }
  }

  /** Counts since the start, of all isolates that share the pool. */
  statistics(): PoolStatistics {
    this.#checkOpen()
    const { mayfly_pool_statistics } = this.#symbols
    return JSON.parse(
      this.#library.readText((text, capacity) => mayfly_pool_statistics(this.#handle, text, capacity)),
    )
  }

  /** Closes a program: waits for its requests, drops its machines and frees it. */
  async retire(program: NativeProgram): Promise<void> {
    await program.close((handle) => {
      if (this.#closing === null) {
        this.#library.check(this.#symbols.mayfly_pool_retire(this.#handle, handle))
      }
    })
  }

  /** Refuses further requests, waits for those under way, which their deadlines bound, and ends the threads. */
  close(): Promise<void> {
    this.#endLooks()
    return this.#closing ??= this.#close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    this.#symbols.mayfly_pool_stop(this.#handle)
    await this.#drain
    this.#slow.end()
    await this.#takeLastResets()
    const status = await this.#symbols.mayfly_pool_free(this.#handle)
    if (status < 0) throw toNativeError(status, 'Cannot close the pool: see the standard error')
  }

  #checkOpen(): void {
    if (this.#broken !== null) throw this.#broken
    if (this.#closing !== null) throw new ClosedError('pool')
  }

  /** Takes the answer to the only request under way. */
  #takeNow(ticket: number): Completion {
    try {
      const length = this.#words[RESPONSE_BYTES]!
      const left = this.#words[LOG_BYTES]! + this.#words[MESSAGE_BYTES]! + this.#words[DENIALS_BYTES]!
      const isHere = length <= ANSWER_BYTES && left === 0
      return this.#toCompletion(0, ticket, isHere ? this.#answer.slice(0, length) : null)
    } catch (error) {
      this.#break(error as MachinesError)
      throw error
    }
  }

  #expect(
    program: NativeProgram,
    ticket: number,
    late: (() => HostChannel) | null,
    slow: Watched['slow'],
  ): Promise<Completion> {
    const { promise, resolve, reject } = Promise.withResolvers<Completion>()
    this.#pending[ticket & SLOT_MASK] = {
      program,
      ticket,
      resolve,
      reject,
      talk: null,
      late,
      slow,
      seen: false,
      over: null,
    }
    program.begin()
    this.#outstanding++
    if (slow !== undefined) this.#slow.watch()
    return promise
  }

  /** Waits until nothing is outstanding; one at a time. */
  async #takeAll(): Promise<void> {
    try {
      const room = { bytes: this.#bytes, most: BATCH, longestUs: WAIT_US }
      for (let count = 0; this.#outstanding > 0;) {
        count = await nextRecords(this.#symbols, this.#handle, room, count > 0)
        if (count < 0) throw toNativeError(count, 'Cannot wait for answers: see the standard error')
        for (let index = 0; index < count; index++) this.#settle(index)
      }
    } catch (error) {
      this.#break(error as MachinesError)
    } finally {
      this.#drain = null
    }
  }

  #settle(index: number): void {
    const ticket = this.#signed[index * WORDS + TICKET]!
    if (this.#words[index * WORDS + OUTCOME] === SAID) return this.#hear(ticket)
    const slot = ticket & SLOT_MASK
    const pending = this.#pending[slot]
    if (pending === undefined) {
      throw new NativeError('panic', `Cannot settle ticket ${ticket}: nobody waits for it, want a held one`)
    }
    const { talk } = pending
    // What it said last.
    if (talk !== null) this.#hear(ticket)
    const completion = this.#toCompletion(index, ticket, null)
    this.#pending[slot] = undefined
    this.#outstanding--
    pending.program.end()
    pending.over?.()
    if (talk !== null && endTalk(talk)) return pending.reject(talk.failure!.error as Error)
    pending.resolve(completion)
  }

  /** Takes what the record at `index` says of a request. Its ticket ends with it, or ended with its `frame`. */
  #toCompletion(index: number, ticket: number, frame: Uint8Array<ArrayBuffer> | null): Completion {
    const word = index * WORDS
    const long = index * LONGS
    const told = this.#signed[word + TICKET]
    if (told !== ticket) {
      throw new NativeError('panic', `Cannot settle ticket ${told}: nobody waits for it, want ${ticket}`)
    }
    const completion: Completion = {
      outcome: OUTCOMES[this.#words[word + OUTCOME]!]!,
      log: this.#read(ticket, PARTS.log, this.#words[word + LOG_BYTES]!),
      logDropped: this.#words[word + LOG_DROPPED]!,
      denials: this.#readDenials(ticket, this.#words[word + DENIALS_BYTES]!),
      message: decodeText(this.#read(ticket, PARTS.message, this.#words[word + MESSAGE_BYTES]!)),
      detail: this.#signed[word + DETAIL]!,
      queueUs: this.#longs[long + QUEUE_US]!,
      runUs: this.#longs[long + RUN_US]!,
      parks: this.#words[word + PARKS]!,
      parkedUs: this.#longs[long + PARKED_US]!,
      said: this.#words[word + MESSAGES_SAID]!,
      heard: this.#words[word + MESSAGES_HEARD]!,
      exits: this.#words[word + EXITS]!,
      reset: this.#resets.take(
        ticket,
        MACHINES[this.#words[word + MACHINE]!]!,
        this.#longs[long + RESET_US]!,
        this.#words[word + DIRTY_PAGES]!,
      ),
      worker: this.#words[word + WORKER]!,
      // Last: the ticket ends with it.
      frame: frame ?? this.#takeFrame(ticket, this.#words[word + RESPONSE_BYTES]!),
    }
    noteAnswer(this.#busyPoll, completion.runUs + completion.reset.us)
    return completion
  }

  /** Straight from the native buffer into one of our own: the only copy. */
  #read(ticket: number, part: number, length: number): Uint8Array<ArrayBuffer> {
    if (length === 0) return NOTHING
    const bytes = new Uint8Array(length)
    this.#library.check(this.#symbols.mayfly_read(this.#handle, ticket, part, bytes, length))
    return bytes
  }

  #takeFrame(ticket: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = length === 0 ? NOTHING : new Uint8Array(length)
    this.#library.check(this.#symbols.mayfly_take(this.#handle, ticket, bytes, length))
    return bytes
  }

  /** After the last answer of a pool that is stopped: its machines may still be reset. */
  async #takeLastResets(): Promise<void> {
    if (this.#resets.size > 0) {
      const { mayfly_wait } = this.#symbols
      const count = await mayfly_wait(this.#handle, this.#bytes, BATCH, WAIT_US)
      if (count < 0) throw toNativeError(count, 'Cannot wait for resets: see the standard error')
      this.#resets.poll()
    }
    this.#resets.giveUp()
  }

  #readDenials(ticket: number, length: number): readonly Denial[] {
    if (length === 0) return NO_DENIALS
    return JSON.parse(decoder.decode(this.#read(ticket, PARTS.denials, length)))
  }

  /** A bug: nothing that is outstanding can be settled any more. */
  #break(error: MachinesError): void {
    this.#broken = error
    this.#outstanding = 0
    for (const pending of this.#pending.splice(0)) {
      if (pending === undefined) continue
      pending.program.end()
      pending.over?.()
      if (pending.talk !== null) endTalk(pending.talk)
      pending.reject(error)
    }
    this.#resets.giveUp()
  }
}

const decodeText = (bytes: Uint8Array): string => bytes.length === 0 ? '' : decoder.decode(bytes)
