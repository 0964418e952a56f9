/**
 * The guest's side of a channel to the host. Messages leave together, with the read that waits for the host's when the program has nothing
 * else to do; its machine is parked meanwhile.
 */
import { type MessageParts, readMessage } from '../wire/message_frame.ts'
import { host } from './host.ts'
import { addMessage, hasMessages, takeMessages } from './outbox.ts'
import { hasTimers, onTimer } from './timers.ts'

/** Hears what the host says. It must not throw. */
export type Listener = (message: MessageParts) => void

/** Exchange of the channel's own message: the host hears nothing of this request, and answers nothing. */
export const CLOSED = 0

let listener: Listener = () => {}
/** Whether an answer of the host is to be waited for. */
let awaits: () => boolean = () => true
/** Something was said in this request. */
let talks = false
/** The host said that it hears nothing. */
let closed: MessageParts | null = null
let flushes = false

/**
 * Sends a message; it leaves when the program has nothing else to do, or before the request's answer. That of a program with timers leaves
 * when the running code has come to its end. Throws `RangeError` for a part
 * over its limit. Where nobody hears it (in a warm-up), the listener is given a message of exchange {@linkcode CLOSED}; where the request
 * has no channel, the request ends.
 */
export function send(message: MessageParts): void {
  talks = true
  if (closed !== null) {
    const notice = closed
    queueMicrotask(() => listener(notice))
  } else if (addMessage(message)) {
    flush()
  } else if (!flushes && hasTimers()) {
    flushes = true
    queueMicrotask(flush)
  }
}

/**
 * Sets who hears what the host says: the only one. `waits` tells whether an answer is awaited; while it does, a program without anything
 * else to do waits for the host. Default: once it has said something.
 */
export function listen(hear: Listener, waits: () => boolean = () => true): void {
  listener = hear
  awaits = waits
}

/** A request begins: what was said in the one before is over. */
export function beginTalk(): void {
  if (!talks) return
  talks = false
  closed = null
  if (hasMessages()) takeMessages()
}

/**
 * Waits for the host, where an answer is awaited: true, and the listener has heard it. The program has nothing else to do, so what it said
 * leaves now.
 */
export function waitForHost(): boolean {
  if (!isWaiting()) {
    if (hasMessages()) host.say(takeMessages())
    return false
  }
  const bytes = host.hear(hasMessages() ? takeMessages() : null)
  if (bytes === null) return false
  handOut(bytes)
  return true
}

function isWaiting(): boolean {
  return talks && closed === null && awaits()
}

function handOut(bytes: Uint8Array<ArrayBuffer>): void {
  for (let start = 0; start < bytes.length;) {
    const { message, end } = readMessage(bytes, start)!
    start = end
    if (message.id === CLOSED) closed = message
    listener(message)
  }
}

function flush(): void {
  flushes = false
  if (hasMessages()) host.say(takeMessages())
  hearBeside()
}

/** A program with timers hears the host beside them. */
function hearBeside(): void {
  if (isWaiting()) host.hearBesideTimers(handOut, isWaiting)
}

// One that is made while the program waits already.
onTimer(() => {
  if (talks) queueMicrotask(flush)
})
