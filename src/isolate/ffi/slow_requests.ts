/** Requests that take long, noticed by one timer for all of a pool: a brief one costs nothing. */
import type { SubmitOptions } from '../machines/completion.ts'

/** A request that is under way at two of these looks is slow: in milliseconds. */
const LOOK_MS = 25

/** A request under way, as a look sees it. */
export interface Watched {
  readonly ticket: number
  readonly slow: SubmitOptions['slow']
  /** It was under way at the last look. */
  seen: boolean
  /** What to call at its end, once it is slow. */
  over: (() => void) | null
}

export class SlowRequests {
  readonly #pending: readonly (Watched | undefined)[]
  readonly #callOff: (ticket: number) => void
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `pending` has what is under way, by slots that are used again. */
  constructor(pending: readonly (Watched | undefined)[], callOff: (ticket: number) => void) {
    this.#pending = pending
    this.#callOff = callOff
  }

  /** Begins to look, until nothing is under way that may be told. */
  watch(): void {
    if (this.#timer !== undefined) return
    const timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#look()) this.watch()
    }, LOOK_MS)
    Deno.unrefTimer(timer)
    this.#timer = timer
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): boolean {
    let some = false
    for (const [slot, watched] of this.#pending.entries()) {
      if (watched?.slow === undefined) continue
      some = true
      if (watched.seen && watched.over === null) {
        watched.over = watched.slow(() => {
          // Another may have its slot by now.
          if (this.#pending[slot] === watched) this.#callOff(watched.ticket)
        })
      }
      watched.seen = true
    }
    return some
  }
}
