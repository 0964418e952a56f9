/** From the outboxes to the workers. */
import type { Member, PoolState, Task } from './state.ts'
import { remove } from './task_queue.ts'
import { settle } from './task.ts'
import { BATCH_LIMIT, SLOT_SENT, SLOTS, type TaskMessage } from './wire.ts'
import { watchBy } from './deadline.ts'

/**
 * Messages that a worker may have unanswered. Two keep it busy while the host is elsewhere; what comes in the meantime
 * gathers in the outbox and makes the next message a large one. So an idle worker gets its task at once, and a busy pool
 * pays for few messages.
 */
const MESSAGES_AHEAD = 2

/** Sends what waits for `member`, as far as its window allows. */
export function sendTo(pool: PoolState, member: Member): void {
  if (member.state !== 'ready') return
  while (member.outbox.first !== undefined && member.messageEnds.length < MESSAGES_AHEAD) {
    const now = performance.now()
    if (member.oldestId === member.nextId) {
      member.progressAt = now
      member.shortestTimeoutMs = Infinity
    }
    post(pool, member, takeBatch(member))
    if (member.oldestId !== member.nextId) watchBy(pool, now + member.shortestTimeoutMs)
  }
}

/** The tasks of one message: one that transfers objects travels alone, because a failure would leave them detached. */
function takeBatch(member: Member): Task[] {
  const batch: Task[] = []
  let task = member.outbox.first
  while (task !== undefined && batch.length < BATCH_LIMIT) {
    if (task.transfer !== undefined && batch.length > 0) break
    remove(task)
    batch.push(task)
    if (task.transfer !== undefined) break
    task = member.outbox.first
  }
  return batch
}

/** Posts tasks as one message, or, when a payload cannot be cloned, each by itself so that only that one fails. */
function post(pool: PoolState, member: Member, batch: Task[]): void {
  const firstId = member.nextId
  const message: TaskMessage = [firstId, 0]
  let longest = 0
  for (let i = 0; i < batch.length; i++) {
    const task = batch[i]!
    const slot = (firstId + i) & (SLOTS - 1)
    task.id = firstId + i
    member.sent[slot] = task
    Atomics.store(member.slots, slot, SLOT_SENT)
    message.push(task.payload)
    if (task.timeoutMs > longest) longest = task.timeoutMs
    if (task.timeoutMs < member.shortestTimeoutMs) member.shortestTimeoutMs = task.timeoutMs
  }
  message[1] = longest
  member.nextId = firstId + batch.length
  try {
    member.worker!.postMessage(message, batch[0]!.transfer ?? [])
    member.messageEnds.push(member.nextId)
  } catch (error) {
    member.nextId = firstId
    for (let i = 0; i < batch.length; i++) {
      member.sent[(firstId + i) & (SLOTS - 1)] = undefined
      batch[i]!.id = 0
    }
    if (batch.length > 1) {
      for (const task of batch) if (!task.settled) post(pool, member, [task])
    } else if (settle(batch[0]!)) {
      pool.failed++
      batch[0]!.reject(error)
    }
  }
}
