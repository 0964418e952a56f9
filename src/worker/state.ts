/** The state of a pool, its workers and their tasks; the functions on it are in the files beside this one. */
import type { WorkerPoolHooks, WorkerState } from './types.ts'
import type { ResolvedPoolOptions } from './options.ts'

/** One call of `run`, from submission to its answer. */
export interface Task {
  payload: unknown
  readonly transfer: Transferable[] | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  onAbort: (() => void) | undefined
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
  /** The worker that it counts for. */
  readonly member: Member
  /** Its number at that worker, or 0 before it is sent. */
  id: number
  settled: boolean
  queue: TaskQueue | undefined
  previous: Task | undefined
  next: Task | undefined
}

/** A first-in first-out queue linked through the tasks themselves, so that a task can leave from the middle. */
export interface TaskQueue {
  first: Task | undefined
  last: Task | undefined
}

/** One worker of the pool; it keeps its place and its tasks when its thread is replaced. */
export interface Member {
  readonly index: number
  state: WorkerState
  worker: Worker | undefined
  /** One cell for each task that was sent, see wire.ts. */
  slots: Int32Array<SharedArrayBuffer>
  /** Tasks that were sent and not answered, at `id % SLOTS`; also settled ones, until the worker skips them. */
  readonly sent: (Task | undefined)[]
  /** The lowest id without an answer; equal to `nextId` when the worker has nothing to do. */
  oldestId: number
  nextId: number
  /** For each message that is not answered whole: the id after its last task. */
  readonly messageEnds: number[]
  /** Tasks that wait for their message. */
  readonly outbox: TaskQueue
  /** Tasks that are not settled, sent or not. */
  depth: number
  /** When the oldest task came to its turn, or the script began to load, by `performance.now()`. */
  progressAt: number
  /** The shortest `timeoutMs` among the tasks that were sent. */
  shortestTimeoutMs: number
  /** Deaths in a row without a finished task between them. */
  failures: number
  /** True when this thread replaces another one. */
  replaces: boolean
  retryTimer: ReturnType<typeof setTimeout> | undefined
}

/** A pool. `members` is empty until it starts. */
export interface PoolState {
  readonly options: ResolvedPoolOptions
  readonly hooks: WorkerPoolHooks
  readonly members: Member[]
  closed: boolean
  sendQueued: boolean
  /** `sendAll` of this pool, made once. */
  readonly sendAll: () => void
  timer: ReturnType<typeof setTimeout> | undefined
  /** When the timer fires; Infinity while none is set. */
  timerAt: number
  readonly onTimer: () => void
  /** Why the script does not load, after the last attempt; and when the next `run` may try again. */
  unloadable: string | undefined
  retryAt: number
  completed: number
  failed: number
  timeouts: number
  crashes: number
  respawns: number
  rejected: number
}
