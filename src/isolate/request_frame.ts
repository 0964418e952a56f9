import type { DescribeHead, DrawHead, RenewHead, RequestHead } from './message.ts'
import { makeFrame, REQUEST } from './wire.ts'

const encoder = new TextEncoder()
const NOTHING = new Uint8Array(0)

/** Bytes of entropy that a request carries, as twice as many hex digits. */
const SEED_BYTES = 32

/** A frame for a handler. Throws `RangeError` when the header or the body is over what any frame may have. */
export function encodeRequest(head: RequestHead, body: Uint8Array = NOTHING): Uint8Array<ArrayBuffer> {
  return makeFrame(REQUEST, encoder.encode(JSON.stringify(head)), body)
}

/** A frame that asks the program itself. */
export function encodeControl(head: DescribeHead | DrawHead | RenewHead): Uint8Array<ArrayBuffer> {
  return makeFrame(REQUEST, encoder.encode(JSON.stringify(head)), NOTHING)
}

/** Entropy for one request. */
export function createSeed(): string {
  return crypto.getRandomValues(new Uint8Array(SEED_BYTES)).toHex()
}
