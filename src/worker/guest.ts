/**
 * What runs inside a worker. Tasks run one at a time, in order. A script is one of two kinds: it calls `defineWorker`, or
 * it listens to `message` and answers with `self.postMessage`, as any worker does; to the second kind each task is a
 * `message` event and the next thing that it posts is the answer.
 *
 * Answers leave in batches: when the tasks of a message are done, before the loop waits for a promise, and before a task
 * starts when a millisecond has passed since the last time.
 */
import { Script } from 'node:vm'
import { WORKER_HANDLER, type WorkerHandler, type WorkerTask } from './define_worker.ts'
import { toWire } from './failure.ts'
import { flatCopy, NOT_FLAT } from './flat_copy.ts'
import {
  type AnswerMessage,
  type BootMessage,
  type HostMessage,
  SLOT_SENT,
  SLOT_STARTED,
  SLOTS,
  type TaskMessage,
} from './wire.ts'

/** A worker's global scope, as far as it is used here. */
interface Scope extends EventTarget {
  onmessage: unknown
  postMessage(message: HostMessage, transfer: Transferable[]): void
  close(): void
  [WORKER_HANDLER]?: WorkerHandler | null
  [DRAIN]?: () => void
}

/** Where the watchdog's script finds the loop. */
const DRAIN: unique symbol = Symbol.for('mayfly.worker.drain') as never

/** Milliseconds between two batches of answers while tasks run. */
const FLUSH_MS = 1

/** Milliseconds after which the loop starts its watchdog anew. */
const SEGMENT_MS = 100

/** Milliseconds that the watchdog gives the host to act before it does. */
const WATCHDOG_SLACK_MS = 250

const MAX_TIMER_MS = 2 ** 31 - 1

interface Guest {
  readonly scope: Scope
  readonly send: (message: HostMessage, transfer: Transferable[]) => void
  readonly watchdog: Script
  slots: Int32Array
  handler: WorkerHandler | undefined
  hasListener: boolean
  /** Messages with tasks that have not started; `cursor` points into the first. */
  readonly messages: TaskMessage[]
  cursor: number
  answers: AnswerMessage
  flushedAt: number
  /** The id of the task that has no answer yet, or 0. */
  current: number
  /** True from a task's first wait to its answer. */
  suspended: boolean
  /** True after an uncaught error: the runtime is about to end this worker. */
  dying: boolean
  moved: Transferable[]
  readonly task: WorkerTask
  dispatched: Event | undefined
  warned: boolean
}

/** Takes over the worker's scope and waits for the host's first message. */
export function boot(): void {
  const scope = globalThis as unknown as Scope
  const guest: Guest = {
    scope,
    send: scope.postMessage.bind(scope),
    watchdog: new Script(`globalThis[Symbol.for('mayfly.worker.drain')]()`),
    slots: new Int32Array(0),
    handler: undefined,
    hasListener: false,
    messages: [],
    cursor: 2,
    answers: [],
    flushedAt: 0,
    current: 0,
    suspended: false,
    dying: false,
    moved: [],
    task: { transfer: (...objects) => void guest.moved.push(...objects) },
    dispatched: undefined,
    warned: false,
  }
  scope[WORKER_HANDLER] = null
  scope[DRAIN] = () => drain(guest)
  // First in line, so that the script sees tasks and never the host's own messages.
  scope.addEventListener('message', (event) => {
    if (event === guest.dispatched) return
    event.stopImmediatePropagation()
    const { data } = event as MessageEvent<BootMessage | TaskMessage>
    if (Array.isArray(data)) {
      guest.messages.push(data)
      if (!guest.suspended) resume(guest)
    } else {
      void load(guest, data)
    }
  })
  scope.addEventListener('error', () => guest.dying = true)
  replaceScope(guest)
}

/** Puts the pool's functions in the place of those with which a script talks to its host. */
function replaceScope(guest: Guest): void {
  const { scope } = guest
  const { addEventListener } = scope
  scope.addEventListener = function (this: unknown, type: string, ...rest: unknown[]) {
    if (type === 'message') guest.hasListener = true
    return Reflect.apply(addEventListener, scope, [type, ...rest])
  } as typeof addEventListener
  scope.postMessage =
    ((value: unknown, options?: Transferable[] | StructuredSerializeOptions) =>
      answerFromScript(guest, value, Array.isArray(options) ? options : options?.transfer)) as Scope[
        'postMessage'
      ]
  const close = scope.close.bind(scope)
  scope.close = () => {
    flush(guest)
    guest.send({ notice: 'closed' }, [])
    close()
  }
  Deno.exit = ((): never => {
    scope.close()
    throw new Error('Cannot exit the process: this is a worker of a pool, which ends instead')
  }) as typeof Deno.exit
}

async function load(guest: Guest, { script, slots }: BootMessage): Promise<void> {
  guest.slots = new Int32Array(slots)
  try {
    await import(script)
    guest.handler = guest.scope[WORKER_HANDLER] ?? undefined
    if (guest.handler === undefined && !guest.hasListener && typeof guest.scope.onmessage !== 'function') {
      throw new TypeError(
        `Cannot use ${script} as a worker: it sets no self.onmessage and calls no defineWorker`,
      )
    }
    guest.send({ notice: 'ready' }, [])
  } catch (error) {
    console.error(`mayfly: the worker script ${script} does not load\n`, error)
    guest.send({ notice: 'unloadable', reason: toWire(error)[1] }, [])
  }
}

/**
 * Runs tasks until none is left or one waits, under a watchdog: the runtime cannot end a worker that is in an endless
 * loop, so the loop has to be broken from inside (denoland/deno#35657). It does not reach what runs after an `await`.
 */
function resume(guest: Guest): void {
  while (guest.messages.length > 0 && !guest.suspended && !guest.dying) {
    const timeout = Math.min(guest.messages[0][1] + WATCHDOG_SLACK_MS, MAX_TIMER_MS)
    try {
      guest.watchdog.runInThisContext({ timeout })
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      guest.dying = true
      guest.send({ notice: 'overrun', id: guest.current }, [])
    }
  }
}

function drain(guest: Guest): void {
  const { messages } = guest
  const start = guest.flushedAt = performance.now()
  const message = messages[0]
  while (guest.cursor < message.length) {
    const id = message[0] + guest.cursor - 2
    const payload = message[guest.cursor]
    message[guest.cursor++] = undefined
    if (Atomics.compareExchange(guest.slots, id & (SLOTS - 1), SLOT_SENT, SLOT_STARTED) !== SLOT_SENT) {
      guest.answers.push(-id, null)
      continue
    }
    guest.current = id
    if (guest.handler === undefined) runScript(guest, payload)
    else runHandler(guest, guest.handler, payload)
    if (guest.dying) return
    if (guest.current !== 0) {
      guest.suspended = true
      flush(guest)
      return
    }
    const now = performance.now()
    if (now - guest.flushedAt < FLUSH_MS) continue
    flush(guest)
    guest.flushedAt = now
    if (now - start > SEGMENT_MS && guest.cursor < message.length) return
  }
  messages.shift()
  guest.cursor = 2
  flush(guest)
}

function runScript(guest: Guest, payload: unknown): void {
  guest.dispatched = new MessageEvent('message', { data: payload })
  // An error in a listener ends the worker, as in any worker: the runtime sees to it.
  guest.scope.dispatchEvent(guest.dispatched)
  guest.dispatched = undefined
}

function answerFromScript(guest: Guest, value: unknown, transfer: Transferable[] | undefined): void {
  if (guest.current === 0) {
    if (!guest.warned) console.warn('mayfly: a worker posted a message that no task waits for; it is dropped')
    guest.warned = true
    return
  }
  answer(guest, value, transfer)
  if (guest.suspended) queueMicrotask(() => wake(guest))
}

function runHandler(guest: Guest, handler: WorkerHandler, payload: unknown): void {
  try {
    const result = handler(payload, guest.task)
    if (result instanceof Promise) {
      result.then(
        (value) => finish(guest, value),
        (error) => fail(guest, error),
      ).then(() => wake(guest))
    } else {
      finish(guest, result)
    }
  } catch (error) {
    fail(guest, error)
  }
}

function finish(guest: Guest, value: unknown): void {
  const { moved } = guest
  if (moved.length > 0) guest.moved = []
  try {
    answer(guest, value, moved)
  } catch (error) {
    fail(guest, error)
  }
}

function fail(guest: Guest, error: unknown): void {
  if (guest.moved.length > 0) guest.moved = []
  guest.answers.push(-guest.current, toWire(error))
  guest.current = 0
}

/** Goes on after the task that the loop waited for. */
function wake(guest: Guest): void {
  if (!guest.suspended) return
  guest.suspended = false
  if (guest.messages.length > 0 && guest.cursor >= guest.messages[0].length) {
    guest.messages.shift()
    guest.cursor = 2
  }
  flush(guest)
  resume(guest)
}

/**
 * Answers the current task. What could change before the batch leaves is sent at once. Throws `DataCloneError` for a value that
 * cannot be sent; the task is then still without an answer.
 */
function answer(guest: Guest, value: unknown, transfer: Transferable[] | undefined): void {
  const moves = transfer !== undefined && transfer.length > 0
  const copy = moves ? NOT_FLAT : flatCopy(value)
  if (copy === NOT_FLAT) {
    flush(guest)
    guest.send([guest.current, value], transfer ?? [])
  } else {
    guest.answers.push(guest.current, copy)
  }
  guest.current = 0
}

function flush(guest: Guest): void {
  if (guest.answers.length === 0) return
  guest.send(guest.answers, [])
  guest.answers = []
}
