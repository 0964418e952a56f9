/**
 * Whether to run a request on the calling thread. Waking a worker, and being woken by it through the event loop, costs about as
 * much as a short request; a machine on the calling thread needs neither, but holds up all else meanwhile. So only requests
 * that are short and alone run here: that is a matter of the recent past, and looked at anew again and again.
 *
 * A period is the time from the first request under way to none. Periods with one request make a streak; one with two ends it.
 * A period that lingers here can never have two, so every {@link PROBE}th does not.
 */
export interface Linger {
  /** Longest run on the calling thread, in microseconds; 0 for never. */
  readonly mostUs: number
  /** Periods in a row with one short request. */
  streak: number
  /** Requests of this period. */
  requests: number
  /** Moving mean of a request's time, in microseconds. */
  meanUs: number
}

/** Lonely periods before the first that lingers. */
const STREAK = 8
const PROBE = 16
/**
 * The mean of what counts as short, of the most that it may take. Much less than 1: the timer that stops a run stays armed
 * over many short ones, and each ring of it costs as much as one of them.
 */
const SHORT = 1 / 10
/** Weight of the newest request in the mean. */
const WEIGHT = 1 / 8

/** A state that has seen nothing. */
export function createLinger(mostUs: number): Linger {
  return { mostUs, streak: 0, requests: 0, meanUs: 0 }
}

/** Counts a request in; true when it should run here. `first`: nothing else is under way. */
export function shouldLinger(state: Linger, first: boolean): boolean {
  if (!first) {
    state.requests++
    state.streak = 0
    return false
  }
  if (state.requests === 1 && state.meanUs <= state.mostUs * SHORT) state.streak++
  else state.streak = 0
  state.requests = 1
  return state.streak > STREAK && state.streak % PROBE !== 0 && state.mostUs > 0
}

/** Counts an answer in by the time that its request took. */
export function noteAnswer(state: Linger, microseconds: number): void {
  state.meanUs += (microseconds - state.meanUs) * WEIGHT
}

/** It ran here and was not done in time. */
export function noteLate(state: Linger): void {
  state.streak = 0
}
