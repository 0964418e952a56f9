import type { Task, TaskQueue } from './state.ts'

/** An empty queue. */
export function createQueue(): TaskQueue {
  return { first: undefined, last: undefined }
}

/** Appends a task that is in no queue. */
export function push(queue: TaskQueue, task: Task): void {
  task.previous = queue.last
  task.next = undefined
  if (queue.last === undefined) queue.first = task
  else queue.last.next = task
  queue.last = task
  task.queue = queue
}

/** Puts a task that is in no queue before all others. */
export function unshift(queue: TaskQueue, task: Task): void {
  task.previous = undefined
  task.next = queue.first
  if (queue.first === undefined) queue.last = task
  else queue.first.previous = task
  queue.first = task
  task.queue = queue
}

/** Takes a task out of the queue that it is in, if any. */
export function remove(task: Task): void {
  const { queue, previous, next } = task
  if (queue === undefined) return
  if (previous === undefined) queue.first = next
  else previous.next = next
  if (next === undefined) queue.last = previous
  else next.previous = previous
  task.previous = task.next = task.queue = undefined
}
