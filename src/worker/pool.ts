/**
 * A pool of workers. A task goes to the worker with the fewest unfinished ones and is answered by it; see wire.ts for how
 * tasks travel and member.ts for what happens when a worker dies.
 */
import type { Member, PoolState } from './state.ts'
import type { WorkerPoolHooks, WorkerPoolOptions, WorkerPoolStats, WorkerTaskOptions } from './types.ts'
import { busyError, unloadableError } from './failure.ts'
import { checkMember, createMember, startMember, stopMember, unsettledTasks } from './member.ts'
import { checkOption } from '../options/check.ts'
import { POOL_RULES, resolvePoolOptions } from './options.ts'
import { createTask, settle } from './task.ts'
import { push } from './task_queue.ts'
import { sendTo } from './send.ts'
import { stopWatching, watchBy } from './deadline.ts'

/** A worker pool. It starts its threads at `start` or at the first `run`. */
export interface WorkerPool {
  /**
   * Runs one task. The payload is read when the task is sent, so it must not be changed before the promise settles.
   *
   * Rejects with an `HttpError`: 504 when the task runs longer than its time, 502 when its worker dies under it or the
   * script does not load, 503 with Retry-After when every worker's queue is full or the pool is closed; with the signal's
   * reason; with `DataCloneError` for a payload that cannot be cloned; with the error that the worker threw.
   */
  run<T = unknown>(payload: unknown, options?: WorkerTaskOptions): Promise<T>
  /** Starts every worker. Safe to call again. */
  start(): void
  /** Ends every worker at once; tasks that are not finished reject with 503. Safe to call again. */
  close(): void
  stats(): WorkerPoolStats
}

/** Makes a pool. Throws `TypeError` or `RangeError` for a bad option; starts nothing. */
export function createPool(options: WorkerPoolOptions, hooks: WorkerPoolHooks = {}): WorkerPool {
  const pool: PoolState = {
    options: resolvePoolOptions(options),
    hooks,
    members: [],
    closed: false,
    sendQueued: false,
    sendAll: () => sendAll(pool),
    timer: undefined,
    timerAt: Infinity,
    onTimer: () => checkAll(pool),
    unloadable: undefined,
    retryAt: 0,
    completed: 0,
    failed: 0,
    timeouts: 0,
    crashes: 0,
    respawns: 0,
    rejected: 0,
  }
  return {
    run: <T>(payload: unknown, options?: WorkerTaskOptions) => run(pool, payload, options) as Promise<T>,
    start: () => start(pool),
    close: () => close(pool),
    stats: () => stats(pool),
  }
}

function run(pool: PoolState, payload: unknown, options: WorkerTaskOptions | undefined): Promise<unknown> {
  let timeoutMs = pool.options.taskTimeoutMs
  if (options !== undefined) {
    if (options.timeoutMs !== undefined) {
      try {
        checkOption('run a worker task', 'timeoutMs', options.timeoutMs, POOL_RULES.taskTimeoutMs)
        timeoutMs = options.timeoutMs
      } catch (error) {
        return Promise.reject(error)
      }
    }
    if (options.signal?.aborted) return Promise.reject(options.signal.reason)
  }
  if (pool.closed) return refuse(pool, 0, 0, 'the pool is closed')
  if (pool.unloadable !== undefined) {
    if (performance.now() < pool.retryAt) {
      pool.rejected++
      pool.hooks.rejected?.({ index: 0, reason: pool.unloadable, queueDepth: 0 })
      return Promise.reject(unloadableError(pool.unloadable))
    }
    pool.unloadable = undefined
  }
  start(pool)
  const member = leastLoaded(pool.members)
  if (member.depth >= pool.options.maxQueueDepth) {
    return refuse(pool, member.index, member.depth, 'every queue is full')
  }
  return new Promise((resolve, reject) => {
    push(member.outbox, createTask(pool, member, payload, options, timeoutMs, resolve, reject))
    if (pool.sendQueued) return
    pool.sendQueued = true
    queueMicrotask(pool.sendAll)
  })
}

function refuse(pool: PoolState, index: number, queueDepth: number, reason: string): Promise<never> {
  pool.rejected++
  pool.hooks.rejected?.({ index, reason, queueDepth })
  return Promise.reject(busyError(`Cannot run the worker task: ${reason}`))
}

/** The worker with the fewest unfinished tasks, the first of equals; one that waits to be loaded again comes last. */
function leastLoaded(members: readonly Member[]): Member {
  let best = members[0]!
  for (let i = 1; i < members.length; i++) {
    const member = members[i]!
    const waits = member.state === 'waiting'
    if (waits === (best.state === 'waiting') ? member.depth < best.depth : !waits) best = member
  }
  return best
}

function sendAll(pool: PoolState): void {
  pool.sendQueued = false
  for (let i = 0; i < pool.members.length; i++) {
    if (pool.members[i]!.outbox.first !== undefined) sendTo(pool, pool.members[i]!)
  }
}

function checkAll(pool: PoolState): void {
  pool.timer = undefined
  pool.timerAt = Infinity
  const now = performance.now()
  let next = Infinity
  for (const member of pool.members) next = Math.min(next, checkMember(pool, member, now))
  if (next !== Infinity) watchBy(pool, next)
}

function start(pool: PoolState): void {
  if (pool.closed) return
  const { members, options } = pool
  while (members.length < options.poolSize) members.push(createMember(members.length))
  for (let i = 0; i < members.length; i++) {
    if (members[i]!.state === 'stopped') startMember(pool, members[i]!)
  }
}

function close(pool: PoolState): void {
  pool.closed = true
  stopWatching(pool)
  for (const member of pool.members) {
    for (const task of unsettledTasks(member)) {
      if (!settle(task)) continue
      pool.failed++
      task.reject(busyError('Cannot finish the worker task: the pool was closed'))
    }
    stopMember(member)
  }
}

function stats(
  { members, completed, failed, timeouts, crashes, respawns, rejected }: PoolState,
): WorkerPoolStats {
  const workers = members.map(({ index, state, depth }) => ({ index, state, depth }))
  return { workers, completed, failed, timeouts, crashes, respawns, rejected }
}
