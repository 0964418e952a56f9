/** The worker pool as its users meet it. Times are in milliseconds. */

/** Options of a pool. */
export interface WorkerPoolOptions {
  /** The worker's script: a URL, an absolute URL as text, or a path from the working directory. */
  scriptURL: string | URL
  /** Number of workers. Default: the number of cores. */
  poolSize?: number | undefined
  /** Longest time from `run` to the answer, waiting included. Default 5000. */
  taskTimeoutMs?: number | undefined
  /** Most unfinished tasks of one worker, the running one included. Default 8. */
  maxQueueDepth?: number | undefined
}

/** What happened to the worker at `index`. `queueDepth` is its number of unfinished tasks. */
export interface WorkerIncident {
  readonly index: number
  readonly timeoutMs?: number
  readonly reason?: string
  readonly queueDepth?: number
}

/** Called at the moment; a hook that is not set costs nothing. A hook must not throw. */
export interface WorkerPoolHooks {
  /** A task's time was over, while it ran (its worker is replaced) or while it waited. */
  timeout?: (incident: WorkerIncident) => void
  /** A worker died or its script did not load. */
  crash?: (incident: WorkerIncident) => void
  /** A worker that replaces another is ready. */
  respawn?: (incident: WorkerIncident) => void
  /** A task was refused: the queue is full, the pool is closed or its script does not load. */
  rejected?: (incident: WorkerIncident) => void
}

/** Options of one task. */
export interface WorkerTaskOptions {
  /** Rejects the task with the signal's reason. A task that has not started never starts. */
  signal?: AbortSignal | undefined
  /** Replaces the pool's `taskTimeoutMs`. */
  timeoutMs?: number | undefined
  /** Objects that move to the worker instead of being copied. Such a task is not run again when its worker dies. */
  transfer?: Transferable[] | undefined
}

/** `stopped`: not started; `loading`: the script is being read; `waiting`: before the next attempt to load it. */
export type WorkerState = 'stopped' | 'loading' | 'ready' | 'waiting'

/** A look at the pool. `depth` is the number of a worker's unfinished tasks. */
export interface WorkerPoolStats {
  readonly workers: readonly { readonly index: number; readonly state: WorkerState; readonly depth: number }[]
  readonly completed: number
  readonly failed: number
  readonly timeouts: number
  readonly crashes: number
  readonly respawns: number
  readonly rejected: number
}
