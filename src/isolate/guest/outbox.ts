/** Messages on their way to the host: they leave together, in one write, and before the answer at the latest. */
import { messageBytes, type MessageParts, writeMessage } from '../wire/message_frame.ts'

/** Bytes that wait at most; more leave at once. */
const MOST_BYTES = 128 << 10

let frames: Uint8Array<ArrayBuffer> | null = null
let used = 0

/** Whether messages wait. */
export function hasMessages(): boolean {
  return used > 0
}

/** Adds a message; true when they should leave now. Throws `RangeError` for a part over its limit. */
export function addMessage(message: MessageParts): boolean {
  const length = messageBytes(message)
  if (frames === null || used + length > frames.length) {
    const larger = new Uint8Array(Math.max(1024, 2 * used, used + length))
    if (frames !== null) larger.set(frames.subarray(0, used))
    frames = larger
  }
  writeMessage(frames.subarray(used), message)
  used += length
  return used >= MOST_BYTES
}

/** Takes what waits: whole frames back to back, until the next message is added. */
export function takeMessages(): Uint8Array<ArrayBuffer> {
  const taken = frames!.subarray(0, used)
  used = 0
  if (frames!.length > MOST_BYTES) frames = null
  return taken
}
