/** What a task's handler may do beside computing its result. */
export interface WorkerTask {
  /** Moves the objects, which the result holds, to the host instead of copying them. */
  transfer(...objects: Transferable[]): void
}

/** Computes one task. It may return a promise; the next task starts when it settles. */
export type WorkerHandler<P = unknown, R = unknown> = (payload: P, task: WorkerTask) => R | Promise<R>

/** Where the pool's bootstrap finds the handler; a registered symbol, so that two copies of this module agree. */
export const WORKER_HANDLER: unique symbol = Symbol.for('mayfly.worker.handler') as never

/**
 * Makes the module that calls it the script of a worker pool, and returns the handler as it is, for tests. What the
 * handler throws rejects the task with the same name and message; the worker lives on. Throws `TypeError` for a handler
 * that is no function or a second one in the same worker.
 */
export function defineWorker<P = unknown, R = unknown>(handler: WorkerHandler<P, R>): WorkerHandler<P, R> {
  if (typeof handler !== 'function') {
    throw new TypeError(`Cannot define a worker: the handler is ${typeof handler}, want a function`)
  }
  const scope = globalThis as { [WORKER_HANDLER]?: WorkerHandler<P, R> | null }
  // The bootstrap puts null there before it loads the script; elsewhere the function is merely returned.
  if (scope[WORKER_HANDLER] === undefined) return handler
  if (scope[WORKER_HANDLER] !== null) {
    throw new TypeError(
      'Cannot define a worker: this one has a handler already, want one call of defineWorker',
    )
  }
  scope[WORKER_HANDLER] = handler
  return handler
}
