/**
 * What the host and the bootstrap inside a worker say to each other.
 *
 * Both directions carry batches, because a message costs some microseconds on either side and a task's payload far
 * less. Answers come in the order of the tasks, so the unanswered ids of a worker are always one contiguous range of
 * at most {@linkcode SLOTS}; each has a cell of shared memory at `id % SLOTS` that says whether the task has started.
 * The cell decides three races: a task that is cancelled before it starts never runs, a dead worker's running task is
 * distinguished from those that may run elsewhere, and a task is never both cancelled and started.
 */

/** Most tasks that one worker has got and not answered. A power of two. */
export const SLOTS = 1024

/** Most tasks in one message. */
export const BATCH_LIMIT = 128

/** States of a task's cell. Only the host writes `sent` and `cancelled`, only the worker writes `started`. */
export const SLOT_SENT = 0
export const SLOT_STARTED = 1
export const SLOT_CANCELLED = 2

/** The first message to a worker. */
export interface BootMessage {
  readonly script: string
  readonly slots: SharedArrayBuffer
}

/** Tasks for a worker: the id of the first, the longest `timeoutMs` among them, then their payloads. */
export type TaskMessage = [firstId: number, timeoutMs: number, ...payloads: unknown[]]

/**
 * Answers of a worker: for each task its id and its result, or for one that failed `-id` and a {@linkcode WireFailure},
 * or for one that was cancelled `-id` and null. Ids start at 1.
 */
export type AnswerMessage = unknown[]

/** An error on its way to the host: name, message, stack, and the status of an `HttpError`, else 0. */
export type WireFailure = [name: string, message: string, stack: string, status: number]

/** What a worker says about itself. `overrun` names the task that the worker's own watchdog stopped. */
export type NoticeMessage =
  | { readonly notice: 'ready' }
  | { readonly notice: 'unloadable'; readonly reason: string }
  | { readonly notice: 'closed' }
  | { readonly notice: 'overrun'; readonly id: number }

/** Every message to the host. */
export type HostMessage = AnswerMessage | NoticeMessage
