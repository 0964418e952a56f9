/**
 * Whether the calling thread waits for an answer by itself. To be woken by the event loop costs as much as a short request; a
 * thread that looks for the answer needs no waking, but is held up meanwhile. So that is done only for requests that are
 * short and alone, which is a matter of the recent past, and looked at anew again and again. The request runs on a worker's
 * thread in any case.
 *
 * A period is the time from the first request under way to none. Periods with one request make a streak; one with two ends it.
 * A period that busy-polls can never have two, so every {@link PROBE}th does not.
 */
export interface BusyPoll {
  /** Longest wait on the calling thread, in microseconds; 0 for never. */
  readonly mostUs: number
  /** Periods in a row with one short request. */
  streak: number
  /** Requests of this period. */
  requests: number
  /** Moving mean of a request's time, in microseconds. */
  meanUs: number
}

/** Periods with a sole request before the first that busy-polls. */
const STREAK = 8
const PROBE = 16
/** The mean of what counts as short, of the longest wait: most requests must be back within it. */
const SHORT = 1 / 2
/** Weight of the newest request in the mean. */
const WEIGHT = 1 / 8

/** A state that has seen nothing. */
export function createBusyPoll(mostUs: number): BusyPoll {
  return { mostUs, streak: 0, requests: 0, meanUs: 0 }
}

/** Counts a request in; true when its answer should be waited for here. `first`: nothing else is under way. */
export function shouldBusyPoll(state: BusyPoll, first: boolean): boolean {
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
export function noteAnswer(state: BusyPoll, microseconds: number): void {
  state.meanUs += (microseconds - state.meanUs) * WEIGHT
}

/** It was waited for in vain. */
export function noteLate(state: BusyPoll): void {
  state.streak = 0
}
