/** Frames by a runtime's plain calls for bytes. */
import {
  ANSWER_HEADER_MAX,
  BODY_MAX,
  FrameError,
  HEAD_BYTES,
  MESSAGE,
  OUTBOX,
  readHead,
  REQUEST,
  RESPONSE,
  writeHead,
} from '../wire/wire.ts'
import { type GuestHead, NOTHING, readHeader } from './http/head.ts'
import type { FrameHeader, GuestHost } from './host.ts'
import { hasMessages, takeMessages } from './outbox.ts'
import { hasTimers } from './timers.ts'

/** Most frames fit; a larger one gets memory of its own. */
const BUFFER_BYTES = 65_536

/** Where a frame's kind lies in its head. */
const KIND = 5

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const input = new Uint8Array(BUFFER_BYTES)
const out = new Uint8Array(BUFFER_BYTES)
let discards = false

/** The end of an answer where {@link ByteCalls.pads}. */
const NEWLINE = 10
const PADDING = 1

/** `read` and `readLater` wait for bytes on fd 0, null at its end; `write` writes to fd 1. All return how many. */
export interface ByteCalls {
  /** `write` sends what is behind the last newline apart: answers get a newline behind their end, and are one call to the machine. */
  readonly pads: boolean
  read(into: Uint8Array): number | null
  readLater(into: Uint8Array): Promise<number | null>
  write(bytes: Uint8Array): number
}

/** What a host gives for frames, made of calls for bytes. */
export function createFrames(
  calls: ByteCalls,
): Pick<
  GuestHost,
  | 'receive'
  | 'toHeader'
  | 'keepHeader'
  | 'sendText'
  | 'sendBytes'
  | 'say'
  | 'hear'
  | 'hearBesideTimers'
  | 'endOfHearing'
  | 'discardOutput'
> {
  return {
    hearBesideTimers: (hand, awaits) => {
      if (hasTimers() && hearing === undefined) hearing = hearLater(calls, hand, awaits)
    },
    endOfHearing: () => hearing,
    say: (messages) => writeAll(calls, messages),
    hear: (messages) => hear(calls, messages),
    receive: (head) => receive(calls, head),
    toHeader: (text) => encoder.encode(text),
    keepHeader: (text) => encoder.encode(text),
    sendText: (header, body, limit) => sendText(calls, header, body, limit),
    sendBytes: (header, body, limit) => sendBytes(calls, header, body, limit),
    discardOutput: (yes) => {
      discards = yes
    },
  }
}

/** What {@link hearLater} read of the next request, and its reading. */
let early: Uint8Array<ArrayBuffer> | null = null
let hearing: Promise<void> | undefined

/** Reads on a thread beside the event loop, in which timers go on. */
async function hearLater(
  calls: ByteCalls,
  hand: (messages: Uint8Array<ArrayBuffer>) => void,
  awaits: () => boolean,
): Promise<void> {
  while (awaits()) {
    const bytes = new Uint8Array(BUFFER_BYTES)
    const have = await calls.readLater(bytes)
    if (have === null) break
    if (bytes[KIND] === REQUEST) {
      // The request ended before the host said anything, and this is the next.
      early = bytes.subarray(0, have)
      break
    }
    hand(readRest(calls, bytes, have))
  }
  hearing = undefined
}

function readEarly(into: Uint8Array): number {
  const bytes = early!
  early = null
  into.set(bytes)
  return bytes.length
}

function receive(calls: ByteCalls, head: GuestHead): string | null {
  let bytes = input
  let have = early === null ? calls.read(input) : readEarly(input)
  if (have === null) return null
  while (have < HEAD_BYTES) have += readMore(calls, bytes, have)
  const { headerBytes, bodyBytes } = readHead(bytes.subarray(0, HEAD_BYTES), REQUEST)
  const end = HEAD_BYTES + headerBytes + bodyBytes
  if (end > bytes.length) {
    bytes = new Uint8Array(end)
    bytes.set(input.subarray(0, have))
  }
  while (have < end) have += readMore(calls, bytes, have)
  if (have > end) {
    throw new FrameError('trailing', have - end, `${have - end} bytes after its end, wanted none`)
  }
  const bodyStart = HEAD_BYTES + headerBytes
  // A copy: the buffer belongs to the next frame.
  head.body = bodyBytes === 0 ? NOTHING : bytes.slice(bodyStart, end)
  return readHeader(decoder.decode(bytes.subarray(HEAD_BYTES, bodyStart)), head)
}

/** Messages that fit go along with the read: a call of their own costs as much as a short request. */
function hear(calls: ByteCalls, messages: Uint8Array | null): Uint8Array<ArrayBuffer> | null {
  const bytes = new Uint8Array(BUFFER_BYTES)
  if (messages !== null) {
    if (HEAD_BYTES + messages.length > BUFFER_BYTES) writeAll(calls, messages)
    else {
      writeHead(bytes, OUTBOX, 0, messages.length)
      bytes.set(messages, HEAD_BYTES)
    }
  }
  const have = calls.read(bytes)
  return have === null ? null : readRest(calls, bytes, have)
}

/** Completes the last of the messages: the host gives whole ones. */
function readRest(
  calls: ByteCalls,
  given: Uint8Array<ArrayBuffer>,
  got: number,
): Uint8Array<ArrayBuffer> {
  let bytes = given
  let have = got
  for (let start = 0; start < have;) {
    const missing = missingBytes(bytes.subarray(start, have))
    if (missing <= 0) {
      start = have + missing
      continue
    }
    if (have + missing > bytes.length) {
      const larger = new Uint8Array(have + missing)
      larger.set(bytes.subarray(0, have))
      bytes = larger
    }
    have += readMore(calls, bytes, have)
  }
  return bytes.subarray(0, have)
}

/** Bytes that the first message lacks; negative for those behind its end. */
function missingBytes(bytes: Uint8Array): number {
  if (bytes.length < HEAD_BYTES) return HEAD_BYTES - bytes.length
  const { headerBytes, bodyBytes } = readHead(bytes.subarray(0, HEAD_BYTES), MESSAGE)
  return HEAD_BYTES + headerBytes + bodyBytes - bytes.length
}

function readMore(calls: ByteCalls, bytes: Uint8Array, have: number): number {
  const count = calls.read(bytes.subarray(have))
  if (count === null) throw new FrameError('cut', 0, 'the input ended inside it')
  return count
}

function sendText(calls: ByteCalls, given: FrameHeader, body: string, limit: number): boolean {
  const header = given as Uint8Array<ArrayBuffer>
  const start = HEAD_BYTES + header.length
  // UTF-8 needs at most three bytes for a UTF-16 unit.
  if (start + body.length * 3 + PADDING > out.length) {
    return sendBytes(calls, header, encoder.encode(body), limit)
  }
  const { written } = encoder.encodeInto(body, out.subarray(start))
  if (written > limit) return false
  writeHead(out, RESPONSE, header.length, written)
  out.set(header, HEAD_BYTES)
  writeAnswer(calls, out, start + written)
  return true
}

function sendBytes(calls: ByteCalls, given: FrameHeader, body: Uint8Array, limit: number): boolean {
  const header = given as Uint8Array<ArrayBuffer>
  if (body.length > Math.min(limit, BODY_MAX) || header.length > ANSWER_HEADER_MAX) return false
  const end = HEAD_BYTES + header.length + body.length
  const frame = end + PADDING > out.length ? new Uint8Array(end + PADDING) : out
  writeHead(frame, RESPONSE, header.length, body.length)
  frame.set(header, HEAD_BYTES)
  frame.set(body, HEAD_BYTES + header.length)
  writeAnswer(calls, frame, end)
  return true
}

/** Writes an answer, behind the messages that wait. `bytes` has room behind `end`. */
function writeAnswer(calls: ByteCalls, bytes: Uint8Array, end: number): void {
  if (hasMessages()) writeAll(calls, takeMessages())
  if (calls.pads) bytes[end] = NEWLINE
  writeAll(calls, bytes.subarray(0, calls.pads ? end + PADDING : end))
}

function writeAll(calls: ByteCalls, bytes: Uint8Array): void {
  if (discards) return
  let sent = calls.write(bytes)
  while (sent < bytes.length) sent += calls.write(bytes.subarray(sent))
}
