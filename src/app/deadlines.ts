/**
 * Deadlines of requests. All last equally long, so the pending ones form a queue in the order of their deadlines and one
 * timer, set for the head, serves them all. The queue's time is counted in ticks of that timer: no clock is read.
 *
 *   head (oldest) <-> ... <-> tail (newest)      tick: every timeout / TICKS
 */

const TICKS = 8

/** One pending request in the queue. */
export interface Deadline {
  tick: number
  expire: (() => void) | null
  /** The request may have a body that is still on its way. */
  readonly isUpload: boolean
  before: Deadline | null
  after: Deadline | null
}

/** The queue of one router. */
export interface Deadlines {
  readonly tickMs: number
  now: number
  head: Deadline | null
  tail: Deadline | null
  timer: ReturnType<typeof setTimeout> | undefined
  /** True while {@linkcode armSoon} waits. */
  arming: boolean
}

/** A queue for deadlines of `timeoutMs`; they expire up to a quarter of that late, never early. 0: only by {@linkcode expireAll}. */
export function createDeadlines(timeoutMs: number): Deadlines {
  return {
    tickMs: Math.ceil(timeoutMs / TICKS),
    now: 0,
    head: null,
    tail: null,
    timer: undefined,
    arming: false,
  }
}

/** Expires every pending request at once. */
export function expireAll(queue: Deadlines): void {
  while (queue.head !== null) expireHead(queue, queue.head)
}

/** True while a request that may have a body is pending. */
export function hasUploads(queue: Deadlines): boolean {
  for (let entry = queue.head; entry !== null; entry = entry.after) {
    if (entry.isUpload) return true
  }
  return false
}

/** Puts a request in line; `expire` is called once, unless {@linkcode clearDeadline} comes first. */
export function setDeadline(queue: Deadlines, expire: () => void, isUpload = false): Deadline {
  const entry: Deadline = { tick: queue.now + TICKS + 1, expire, isUpload, before: queue.tail, after: null }
  if (queue.tail === null) queue.head = entry
  else queue.tail.after = entry
  queue.tail = entry
  if (queue.timer === undefined && !queue.arming && queue.tickMs > 0) armSoon(queue)
  return entry
}

/** Takes a request out of the line; the timer stops with the last one. */
export function clearDeadline(queue: Deadlines, entry: Deadline): void {
  if (entry.expire === null) return
  entry.expire = null
  if (entry.before === null) queue.head = entry.after
  else entry.before.after = entry.after
  if (entry.after === null) queue.tail = entry.before
  else entry.after.before = entry.before
  if (queue.head === null && queue.timer !== undefined) {
    clearTimeout(queue.timer)
    queue.timer = undefined
  }
}

function expireHead(queue: Deadlines, head: Deadline): void {
  const { expire } = head
  clearDeadline(queue, head)
  expire?.()
}

/**
 * Sets the timer a few microtasks later, when something still pends: most handlers that are async by their signature only
 * have answered by then, and a timer costs more than they do.
 */
function armSoon(queue: Deadlines): void {
  queue.arming = true
  Promise.resolve().then(pause).then(pause).then(() => {
    queue.arming = false
    if (queue.head !== null && queue.timer === undefined) arm(queue)
  })
}

function pause(): Promise<void> {
  return Promise.resolve()
}

function arm(queue: Deadlines): void {
  queue.timer = setTimeout(advance, queue.tickMs, queue)
}

function advance(queue: Deadlines): void {
  queue.timer = undefined
  queue.now++
  while (queue.head !== null && queue.head.tick <= queue.now) {
    expireHead(queue, queue.head)
  }
  if (queue.head !== null && queue.timer === undefined) arm(queue)
}
