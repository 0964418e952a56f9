/**
 * Resets that end after their answers. Nobody waits for them but events, so they wake nobody either: they are polled some
 * milliseconds later, all at once.
 *
 * ```text
 * answer (resetting) -> take -> pending ---------- poll -> end
 *                    poll first: -> ended -> take          an answer that is on its way from another thread
 * ```
 */
import type { MachinesError } from '../machines/errors.ts'
import { NativeError } from './errors.ts'
import { MACHINES, RESET, RESET_BYTES } from './layout.ts'
import { MachineReset, type MachineState } from '../machines/machine_reset.ts'

/** Fills records with resets that ended, at most so many, and gives their number. Throws what breaks the pool. */
export type FetchResets = (records: DataView<ArrayBuffer>, most: number) => number

/** Milliseconds until the next poll. */
const POLL_MS = 5
/** So many pending ones are polled at once. */
const MOST_PENDING = 256
/** Resets of one call. */
const BATCH = 64

/** The resets of one pool that go on. */
export class PendingResets {
  readonly #fetch: FetchResets
  readonly #break: (error: MachinesError) => void
  readonly #records = new DataView(new ArrayBuffer(BATCH * RESET_BYTES))
  /** By ticket; a ticket that is used again is another number. */
  readonly #pending = new Map<number, MachineReset>()
  readonly #ended = new Map<number, MachineReset>()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `onBreak` hears what goes wrong in a poll that a timer made. */
  constructor(fetch: FetchResets, onBreak: (error: MachinesError) => void) {
    this.#fetch = fetch
    this.#break = onBreak
  }

  /** How many go on. */
  get size(): number {
    return this.#pending.size
  }

  /** The reset of an answer, as the answer names it. Those of one machine end in the order of its requests. */
  take(ticket: number, state: MachineState, us: number, dirtyPages: number): MachineReset {
    if (state !== 'resetting') {
      if (this.#pending.size > 0) this.poll()
      return new MachineReset(state, us, dirtyPages)
    }
    const ended = this.#ended.size === 0 ? undefined : this.#ended.get(ticket)
    if (ended !== undefined) {
      this.#ended.delete(ticket)
      return ended
    }
    const reset = new MachineReset(state, 0, 0)
    this.#pending.set(ticket, reset)
    if (this.#pending.size >= MOST_PENDING) this.poll()
    this.#timer ??= setTimeout(this.#onTimer, POLL_MS)
    return reset
  }

  /** Ends those that have ended. */
  poll(): void {
    let count
    do {
      count = this.#fetch(this.#records, BATCH)
      for (let at = 0; at < count * RESET_BYTES; at += RESET_BYTES) this.#end(at)
    } while (count === BATCH)
  }

  /** Gives up what goes on: no more is heard of it. */
  giveUp(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    this.#ended.clear()
    for (const reset of pending) reset.end('lost', 0, 0)
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined
    try {
      this.poll()
    } catch (error) {
      return this.#break(error as MachinesError)
    }
    if (this.#pending.size > 0) this.#timer ??= setTimeout(this.#onTimer, POLL_MS)
  }

  #end(at: number): void {
    const word = (field: keyof typeof RESET) => this.#records.getUint32(at + RESET[field][0], true)
    const ticket = word('ticket')
    const state = MACHINES[word('machine')]!
    if (state === 'resetting') {
      throw new NativeError(
        'panic',
        `Cannot end the reset of ticket ${ticket}: it goes on, want one that ended`,
      )
    }
    const us = this.#records.getFloat64(at + RESET.reset_us[0], true)
    const dirtyPages = word('dirty_pages')
    const pending = this.#pending.get(ticket)
    this.#pending.delete(ticket)
    if (pending === undefined) this.#ended.set(ticket, new MachineReset(state, us, dirtyPages))
    else pending.end(state, us, dirtyPages)
  }
}
