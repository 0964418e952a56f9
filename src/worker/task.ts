import type { Member, PoolState, Task } from './state.ts'
import type { WorkerTaskOptions } from './types.ts'
import { remove } from './task_queue.ts'
import { SLOT_CANCELLED, SLOT_SENT, SLOTS } from './wire.ts'

/** A task of `member`, counted there and watching its signal. */
export function createTask(
  pool: PoolState,
  member: Member,
  payload: unknown,
  options: WorkerTaskOptions | undefined,
  timeoutMs: number,
  resolve: (value: unknown) => void,
  reject: (error: unknown) => void,
): Task {
  const transfer = options?.transfer
  const task: Task = {
    payload,
    transfer: transfer === undefined || transfer.length === 0 ? undefined : transfer,
    timeoutMs,
    signal: options?.signal,
    onAbort: undefined,
    resolve,
    reject,
    member,
    id: 0,
    settled: false,
    queue: undefined,
    previous: undefined,
    next: undefined,
  }
  member.depth++
  if (task.signal !== undefined) {
    task.onAbort = () => {
      const { reason } = task.signal!
      if (!settle(task)) return
      pool.failed++
      reject(reason)
    }
    task.signal.addEventListener('abort', task.onAbort)
  }
  return task
}

/**
 * Ends a task's stay, before its promise settles: no longer queued or counted, without a listener to its signal, cancelled at the worker
 * if it has not started there. False when it was settled before.
 */
export function settle(task: Task): boolean {
  if (task.settled) return false
  task.settled = true
  const { member } = task
  member.depth--
  if (task.queue !== undefined) remove(task)
  else if (task.id >= member.oldestId && task.id !== 0) {
    Atomics.compareExchange(member.slots, task.id & (SLOTS - 1), SLOT_SENT, SLOT_CANCELLED)
  }
  if (task.onAbort !== undefined) task.signal!.removeEventListener('abort', task.onAbort)
  task.onAbort = undefined
  task.payload = undefined
  return true
}
