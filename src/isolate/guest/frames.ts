/** Frames on fd 0 and fd 1, read and written without leaving the thread. */
import { FrameError, HEAD_BYTES, readHead, REQUEST, RESPONSE, writeHead } from '../wire.ts'
import { BODY_MAX, HEADER_MAX } from '../wire.ts'
import { host } from './host.ts'

/** Most frames fit; a larger one gets memory of its own. */
const BUFFER_BYTES = 65_536

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const input = new Uint8Array(BUFFER_BYTES)
const out = new Uint8Array(BUFFER_BYTES)
const NOTHING = new Uint8Array(0)
let discards = false

/** A frame as the guest takes it: the header as text, the body its own. */
export interface GuestFrame {
  readonly header: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** Waits for the next frame. Null at the end of input. Throws `FrameError` for what is no frame. */
export function readRequestFrame(): GuestFrame | null {
  let bytes = input
  let have = host.read(input)
  if (have === null) return null
  while (have < HEAD_BYTES) have += readMore(bytes, have)
  const { headerBytes, bodyBytes } = readHead(bytes.subarray(0, HEAD_BYTES), REQUEST)
  const end = HEAD_BYTES + headerBytes + bodyBytes
  if (end > bytes.length) {
    bytes = new Uint8Array(end)
    bytes.set(input.subarray(0, have))
  }
  while (have < end) have += readMore(bytes, have)
  if (have > end) {
    throw new FrameError('trailing', have - end, `${have - end} bytes after its end, wanted none`)
  }
  const bodyStart = HEAD_BYTES + headerBytes
  return {
    header: decoder.decode(bytes.subarray(HEAD_BYTES, bodyStart)),
    // A copy: the buffer belongs to the next frame.
    body: bodyBytes === 0 ? NOTHING : bytes.slice(bodyStart, end),
  }
}

function readMore(bytes: Uint8Array, have: number): number {
  const count = host.read(bytes.subarray(have))
  if (count === null) throw new FrameError('cut', 0, 'the input ended inside it')
  return count
}

/** Writes a frame whose header is ready and whose body is text. False, and nothing written, if the body is over `limit`. */
export function writeText(header: Uint8Array, body: string, limit: number): boolean {
  const start = HEAD_BYTES + header.length
  // UTF-8 needs at most three bytes for a UTF-16 unit.
  if (start + body.length * 3 > out.length) return writeBytes(header, encoder.encode(body), limit)
  const { written } = encoder.encodeInto(body, out.subarray(start))
  if (written > limit) return false
  writeHead(out, RESPONSE, header.length, written)
  out.set(header, HEAD_BYTES)
  writeAll(out.subarray(0, start + written))
  return true
}

/** Writes a frame. False, and nothing written, if the body is over `limit` or the header over what any may have. */
export function writeBytes(header: Uint8Array, body: Uint8Array, limit: number): boolean {
  if (body.length > Math.min(limit, BODY_MAX) || header.length > HEADER_MAX) return false
  const end = HEAD_BYTES + header.length + body.length
  const frame = end > out.length ? new Uint8Array(end) : out.subarray(0, end)
  writeHead(frame, RESPONSE, header.length, body.length)
  frame.set(header, HEAD_BYTES)
  frame.set(body, HEAD_BYTES + header.length)
  writeAll(frame)
  return true
}

/** Whether frames are made and then dropped. */
export function discardOutput(yes: boolean): void {
  discards = yes
}

function writeAll(bytes: Uint8Array): void {
  if (discards) return
  let sent = host.write(bytes)
  while (sent < bytes.length) sent += host.write(bytes.subarray(sent))
}
