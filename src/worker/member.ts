/** The life of one worker: stopped, loading, ready; and when it dies, replaced, its unfinished tasks with it. */
import type { Member, PoolState, Task } from './state.ts'
import type { AnswerMessage, BootMessage, HostMessage, NoticeMessage, WireFailure } from './wire.ts'
import { SLOT_STARTED, SLOTS } from './wire.ts'
import { crashError, fromWire, timeoutError, unloadableError } from './failure.ts'
import { createQueue, unshift } from './task_queue.ts'
import { sendTo } from './send.ts'
import { settle } from './task.ts'
import { watchBy } from './deadline.ts'

/** Milliseconds before the next attempt, by the number of failures in a row; after the last one the pool gives up. */
const BACKOFF_MS = [0, 50, 200, 800]

/** Milliseconds that a script may take to load, at least. */
const LOAD_TIMEOUT_MS = 10_000

/** Milliseconds after giving up until a `run` may load the script again. */
const GIVE_UP_MS = 5000

/** A worker that is not started. */
export function createMember(index: number): Member {
  return {
    index,
    state: 'stopped',
    worker: undefined,
    slots: new Int32Array(new SharedArrayBuffer(0)),
    sent: [],
    oldestId: 1,
    nextId: 1,
    messageEnds: [],
    outbox: createQueue(),
    depth: 0,
    progressAt: 0,
    shortestTimeoutMs: Infinity,
    failures: 0,
    replaces: false,
    retryTimer: undefined,
  }
}

/** Starts the thread. Tasks wait in the outbox until the script is loaded. */
export function startMember(pool: PoolState, member: Member): void {
  member.state = 'loading'
  member.progressAt = performance.now()
  member.slots = new Int32Array(new SharedArrayBuffer(SLOTS * 4))
  member.sent.length = 0
  member.sent.length = SLOTS
  member.oldestId = member.nextId
  member.messageEnds.length = 0
  const worker = new Worker(new URL('./bootstrap.ts', import.meta.url), {
    type: 'module',
    name: `mayfly-worker-${member.index}`,
  })
  member.worker = worker
  worker.onmessage = (event: MessageEvent<HostMessage>) => {
    if (member.worker !== worker) return
    if (Array.isArray(event.data)) receive(pool, member, event.data)
    else notice(pool, member, event.data)
  }
  worker.onerror = (event) => {
    // Otherwise the worker's error would end the host.
    event.preventDefault()
    if (member.worker === worker) crash(pool, member, event.message)
  }
  worker.onmessageerror = () => {
    if (member.worker === worker) crash(pool, member, 'a message of the worker could not be read')
  }
  const boot: BootMessage = { script: pool.options.script, slots: member.slots.buffer }
  worker.postMessage(boot)
  watchBy(pool, member.progressAt + loadTimeoutMs(pool))
}

/** Ends the thread, whatever it does. Its tasks are the caller's business. */
export function stopMember(member: Member): void {
  if (member.retryTimer !== undefined) clearTimeout(member.retryTimer)
  member.retryTimer = undefined
  member.worker?.terminate()
  member.worker = undefined
  member.state = 'stopped'
}

/** Every task of a worker that is not settled, in order of submission. */
export function unsettledTasks(member: Member): Task[] {
  const tasks: Task[] = []
  for (let id = member.oldestId; id < member.nextId; id++) {
    const task = member.sent[id & (SLOTS - 1)]
    if (task !== undefined && !task.settled) tasks.push(task)
  }
  for (let task = member.outbox.first; task !== undefined; task = task.next) tasks.push(task)
  return tasks
}

/**
 * Replaces a worker whose running task, or loading script, is over its time; gives the time of the next look, or
 * Infinity when it has nothing to do.
 */
export function checkMember(pool: PoolState, member: Member, now: number): number {
  if (member.state === 'loading') {
    const due = member.progressAt + loadTimeoutMs(pool)
    if (now < due) return due
    crash(pool, member, `the script did not load within ${loadTimeoutMs(pool)} ms`)
    return Infinity
  }
  if (member.state !== 'ready' || member.oldestId === member.nextId) return Infinity
  const running = runningTask(member) ?? member.sent[member.oldestId & (SLOTS - 1)]!
  const due = member.progressAt + running.timeoutMs
  if (now < due) return due
  overrun(pool, member, running)
  return Infinity
}

function loadTimeoutMs(pool: PoolState): number {
  return Math.max(LOAD_TIMEOUT_MS, pool.options.taskTimeoutMs)
}

/** The task that the worker began last: everything before it has finished, even if its answer has not come. */
function runningTask(member: Member): Task | undefined {
  let running: Task | undefined
  for (let id = member.oldestId; id < member.nextId; id++) {
    const slot = id & (SLOTS - 1)
    if (Atomics.load(member.slots, slot) === SLOT_STARTED) running = member.sent[slot]
  }
  return running
}

function receive(pool: PoolState, member: Member, answers: AnswerMessage): void {
  member.failures = 0
  for (let i = 0; i < answers.length; i += 2) {
    const signed = answers[i] as number
    const id = signed < 0 ? -signed : signed
    const slot = id & (SLOTS - 1)
    const task = member.sent[slot]
    if (task === undefined || task.id !== id) continue
    member.sent[slot] = undefined
    member.oldestId = id + 1
    if (!settle(task)) continue
    if (signed > 0) {
      pool.completed++
      task.resolve(answers[i + 1])
    } else {
      pool.failed++
      task.reject(fromWire(answers[i + 1] as WireFailure))
    }
  }
  const { messageEnds } = member
  while (messageEnds.length > 0 && messageEnds[0]! <= member.oldestId) messageEnds.shift()
  if (member.oldestId !== member.nextId) {
    member.progressAt = performance.now()
    watchBy(pool, member.progressAt + member.shortestTimeoutMs)
  }
  sendTo(pool, member)
}

function notice(pool: PoolState, member: Member, message: NoticeMessage): void {
  switch (message.notice) {
    case 'ready':
      member.state = 'ready'
      if (member.replaces) {
        pool.respawns++
        pool.hooks.respawn?.({ index: member.index, queueDepth: member.depth })
      }
      sendTo(pool, member)
      break
    case 'unloadable':
      crash(pool, member, message.reason)
      break
    case 'closed':
      crash(pool, member, 'the script closed its worker')
      break
    case 'overrun': {
      const task = member.sent[message.id & (SLOTS - 1)]
      if (task?.id === message.id) overrun(pool, member, task)
      else crash(pool, member, 'the script ran on after its answer')
    }
  }
}

/** The running task is over its time. */
function overrun(pool: PoolState, member: Member, running: Task): void {
  pool.timeouts++
  pool.hooks.timeout?.({
    index: member.index,
    timeoutMs: running.timeoutMs,
    reason: 'the task took too long',
    queueDepth: member.depth,
  })
  retire(member, running, timeoutError(running.timeoutMs), pool)
  replace(pool, member)
}

/** The worker died by itself. */
function crash(pool: PoolState, member: Member, reason: string): void {
  pool.crashes++
  pool.hooks.crash?.({ index: member.index, reason, queueDepth: member.depth })
  const running = member.state === 'ready' ? runningTask(member) : undefined
  if (running === undefined) member.failures++
  retire(member, running, crashError(reason), pool)
  if (member.failures > BACKOFF_MS.length - 1 && !pool.members.some(({ state }) => state === 'ready')) {
    giveUp(pool, reason)
  } else {
    replace(pool, member)
  }
}

/** Ends a thread: the running task fails, the others go back to the head of the outbox in their order. */
function retire(member: Member, running: Task | undefined, error: Error, pool: PoolState): void {
  stopMember(member)
  const orphans: Task[] = []
  for (let id = member.oldestId; id < member.nextId; id++) {
    const task = member.sent[id & (SLOTS - 1)]
    if (task === undefined || task.settled) continue
    // A payload that moved into the dead worker is gone.
    if (task !== running && task.transfer === undefined) orphans.push(task)
    else if (settle(task)) {
      pool.failed++
      task.reject(error)
    }
  }
  member.oldestId = member.nextId
  for (const task of orphans.reverse()) {
    task.id = 0
    unshift(member.outbox, task)
  }
}

function replace(pool: PoolState, member: Member): void {
  // A hook may have closed the pool.
  if (pool.closed) return
  member.replaces = true
  const delay = BACKOFF_MS[Math.min(member.failures, BACKOFF_MS.length - 1)]
  if (delay === 0) return startMember(pool, member)
  member.state = 'waiting'
  member.retryTimer = setTimeout(() => {
    member.retryTimer = undefined
    startMember(pool, member)
  }, delay)
}

/** No worker comes up: everything that waits fails now, and so does every `run` for a while. */
function giveUp(pool: PoolState, reason: string): void {
  pool.unloadable = reason
  pool.retryAt = performance.now() + GIVE_UP_MS
  for (const member of pool.members) {
    stopMember(member)
    member.failures = 0
    for (const task of unsettledTasks(member)) {
      if (!settle(task)) continue
      pool.failed++
      task.reject(unloadableError(reason))
    }
    member.oldestId = member.nextId
  }
}
