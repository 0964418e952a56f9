/** The times of a program's handlers in its trial, and what their requests are compared with. */

/** A request of the warm-up, before the snapshot and in a fork of it. Microseconds of CPU time, the quickest of a few runs. */
export interface HandlerTrial {
  /** Number of the handler. */
  readonly handler: number
  /** The request's shape, in words. */
  readonly shape: string
  readonly warmUs: number
  readonly runUs: number
}

/** A run in a fork is as warm as before within this factor, and this many microseconds for what a fork costs. */
const SETTLED_FACTOR = 1.5
const SETTLED_US = 60
/** A request is cold from this many times its trial's run on. */
const COLD_FACTOR = 2

/** Whether a fork does nothing that the warm-up had done already. */
export function isWarm({ warmUs, runUs }: Pick<HandlerTrial, 'warmUs' | 'runUs'>): boolean {
  return runUs <= warmUs * SETTLED_FACTOR + SETTLED_US
}

/** The longest run of a request, in microseconds, that keeps what the trial promised. */
export function longestRun({ runUs }: Pick<HandlerTrial, 'runUs'>): number {
  return runUs * COLD_FACTOR + SETTLED_US
}
