import type { ControlHead, LoadHead, RequestHead, RequestLine } from './message.ts'
import { makeFrame, REQUEST } from './wire.ts'

const encoder = new TextEncoder()
const NOTHING = new Uint8Array(0)

/** Bytes of entropy that a request carries, as twice as many hex digits. */
const SEED_BYTES = 32

/** Seeds made at a time. */
const SEEDS = 64
const SEED_DIGITS = SEED_BYTES * 2
/** Most headers fit; a longer one gets memory of its own. */
const scratch = new Uint8Array(16_384)
let seeds = ''
let nextSeed = 0

/** A frame for a handler. Throws `RangeError` when the header or the body is over what any frame may have. */
export function encodeRequest(head: RequestHead, body: Uint8Array = NOTHING): Uint8Array<ArrayBuffer> {
  const text = toLines(head)
  // UTF-8 needs at most three bytes for a UTF-16 unit.
  if (text.length * 3 > scratch.length) return makeFrame(REQUEST, encoder.encode(text), body)
  const { written } = encoder.encodeInto(text, scratch)
  return makeFrame(REQUEST, scratch.subarray(0, written), body)
}

/** A head as {@link RequestLine} has it: JSON has no line feeds of its own. */
function toLines(head: RequestHead): string {
  const { handler, method, url, path, headers, seed, ip, peer, params, pending } = head
  const { state, session, validated, status } = head
  const isUsual = state === undefined && session === undefined && validated === undefined &&
    status === undefined
  const line: RequestLine = [
    ...[handler, method, url, path] as const,
    // JSON has null where there is none.
    ...[ip, peer, params, pending, isUsual ? null : { state, session, validated, status }] as const,
  ]
  return `${JSON.stringify(line)}\n${JSON.stringify(headers.flat())}\n${seed}`
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
