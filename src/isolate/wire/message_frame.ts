/** Messages as frames: `src/isolate/machines/host_channel.ts` says what they are. */
import {
  EXCHANGE_BYTES,
  HEAD_BYTES,
  MESSAGE,
  MESSAGE_BODY_MAX,
  MESSAGE_HEAD_MAX,
  readHead,
  readLength,
  writeHead,
  writeLength,
} from './wire.ts'

/** The parts of a message. */
export interface MessageParts {
  readonly id: number
  readonly head: Uint8Array<ArrayBuffer>
  readonly body: Uint8Array<ArrayBuffer>
}

/** Length of the frame of a message, in bytes. Throws `RangeError` for a part over its limit. */
export function messageBytes({ id, head, body }: MessageParts): number {
  check('id', id, 0xffff_ffff)
  check('head, in bytes', head.length, MESSAGE_HEAD_MAX)
  check('body, in bytes', body.length, MESSAGE_BODY_MAX)
  return HEAD_BYTES + EXCHANGE_BYTES + head.length + body.length
}

/** Writes a message's frame to the start of `target`, which has room for it. */
export function writeMessage(target: Uint8Array, { id, head, body }: MessageParts): void {
  writeHead(target, MESSAGE, EXCHANGE_BYTES + head.length, body.length)
  writeLength(target, HEAD_BYTES, id)
  target.set(head, HEAD_BYTES + EXCHANGE_BYTES)
  target.set(body, HEAD_BYTES + EXCHANGE_BYTES + head.length)
}

/** The frame of a message. Throws `RangeError` for a part over its limit. */
export function encodeMessage(message: MessageParts): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(messageBytes(message))
  writeMessage(frame, message)
  return frame
}

/**
 * The message whose frame begins at `start`, as views, and where the next one begins; null where the frame is not whole. Throws
 * `FrameError` for what is none.
 */
export function readMessage(
  bytes: Uint8Array<ArrayBuffer>,
  start: number,
): { readonly message: MessageParts; readonly end: number } | null {
  if (bytes.length - start < HEAD_BYTES) return null
  const { headerBytes, bodyBytes } = readHead(bytes.subarray(start, start + HEAD_BYTES), MESSAGE)
  const headStart = start + HEAD_BYTES + EXCHANGE_BYTES
  const bodyStart = start + HEAD_BYTES + headerBytes
  const end = bodyStart + bodyBytes
  if (end > bytes.length) return null
  return {
    message: {
      id: readLength(bytes, start + HEAD_BYTES),
      head: bytes.subarray(headStart, bodyStart),
      body: bytes.subarray(bodyStart, end),
    },
    end,
  }
}

function check(part: string, value: number, most: number): void {
  if (!(Number.isInteger(value) && value >= 0 && value <= most)) {
    throw new RangeError(`Making a message: ${part} is ${value}, wanted an integer of at most ${most}`)
  }
}
