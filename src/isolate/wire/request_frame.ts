import type { ControlHead, LoadHead, RequestHead } from './message.ts'
import { splitLine, writeLine } from './request_line.ts'
import { joinBytes } from '../../context/join_bytes.ts'
import { BODY_MAX, HEAD_BYTES, HEADER_MAX, makeFrame, readFrame, REQUEST, startFrame } from './wire.ts'

const encoder = new TextEncoder()
const NOTHING = new Uint8Array(0)

/** Bytes of entropy that a request carries, as twice as many hex digits. */
const SEED_BYTES = 32

/** Seeds made at a time. */
const SEEDS = 64
const SEED_DIGITS = SEED_BYTES * 2
let seeds = ''
let nextSeed = 0

/** A frame for a handler. Throws `RangeError` when the header or the body is over what any frame may have. */
export function encodeRequest(head: RequestHead, body: Uint8Array = NOTHING): Uint8Array<ArrayBuffer> {
  const text = toLines(head)
  // Most headers are ASCII: as many bytes as characters.
  const frame = startFrame(REQUEST, text.length, body)
  const { read, written } = encoder.encodeInto(text, frame.subarray(HEAD_BYTES, HEAD_BYTES + text.length))
  return read === text.length && written === read ? frame : makeFrame(REQUEST, encoder.encode(text), body)
}

/** The three lines of a header: JSON has no line feeds of its own. */
function toLines(head: RequestHead): string {
  const flat: string[] = []
  for (const [name, value] of head.headers) flat.push(name, value)
  return `${writeLine(head)}\n${JSON.stringify(flat)}\n${head.seed}`
}

/** What a frame of {@link encodeRequest} asks, which is the same for all seeds. */
export function withoutSeed(frame: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const { header, body } = readFrame(frame, REQUEST, { header: HEADER_MAX, body: BODY_MAX })
  return joinBytes([header.subarray(0, header.length - SEED_DIGITS), body])
}

/** Method, path and query of a frame of {@link encodeRequest}; null for another one. */
export function readTarget(frame: Uint8Array<ArrayBuffer>): string | null {
  const { header } = readFrame(frame, REQUEST, { header: HEADER_MAX, body: BODY_MAX })
  const [line = ''] = new TextDecoder().decode(header).split('\n', 1)
  const [, method, url] = splitLine(line) ?? []
  const target = URL.parse(url ?? '')
  return target === null ? null : `${method} ${target.pathname}${target.search}`
}

/** The body of a frame, a view into it. */
export function readBody(frame: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return readFrame(frame, REQUEST, { header: HEADER_MAX, body: BODY_MAX }).body
}

/** A frame for the program itself, or its base. */
export function encodeControl(head: ControlHead | LoadHead): Uint8Array<ArrayBuffer> {
  return makeFrame(REQUEST, encoder.encode(JSON.stringify(head)), NOTHING)
}

/** Entropy for one request; never given twice. */
export function createSeed(): string {
  if (nextSeed === seeds.length) {
    seeds = crypto.getRandomValues(new Uint8Array(SEEDS * SEED_BYTES)).toHex()
    nextSeed = 0
  }
  return seeds.slice(nextSeed, nextSeed += SEED_DIGITS)
}
