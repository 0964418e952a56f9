/**
 * The frames between Mayfly and the program in a virtual machine. The layout is that of the crate `mayfly-wire`, byte for
 * byte: a fixed head, a JSON header and a raw body, back to back, integers little-endian.
 *
 *  0      4         5      6           8               12             16            16+h          16+h+b
 *  +------+---------+------+-----------+---------------+--------------+-- - - - - --+-- - - - - - -+
 *  | MAYF | version | kind | flags = 0 | header length | body length  |  header     |  body        |
 *  +------+---------+------+-----------+---------------+--------------+-- - - - - --+-- - - - - - -+
 */

/** Length of a frame's fixed head, in bytes. */
export const HEAD_BYTES = 16
/** The layout spoken here; a frame of another version is refused. */
export const VERSION = 1
/** No JSON header is longer, in bytes. */
export const HEADER_MAX = 1 << 20
/**
 * No JSON header of an answer to a request is longer, in bytes: the server parses it while nothing else is served, at worst 0.1 us a byte.
 */
export const ANSWER_HEADER_MAX = 1 << 18
/** No body is longer, in bytes. */
export const BODY_MAX = 1 << 30
/** Kind of a frame to the guest. */
export const REQUEST = 1
/** Kind of a frame from the guest. */
export const RESPONSE = 2

/** Kind of a frame between the two, while a request is under way. */
export const MESSAGE = 3
/** Kind of a frame in the buffer that the guest reads into: the messages in its body are said before the read waits. */
export const OUTBOX = 4
/** Bytes at the start of a message's header that name its exchange. */
export const EXCHANGE_BYTES = 4
/** No head of a message is longer, in bytes. */
export const MESSAGE_HEAD_MAX = 64 << 10
/** No body of a message is longer, in bytes. */
export const MESSAGE_BODY_MAX = 1 << 20

const MAGIC = [0x4d, 0x41, 0x59, 0x46]

/** Which way a frame travels. */
export type FrameKind = typeof REQUEST | typeof RESPONSE | typeof MESSAGE | typeof OUTBOX

/** How long the parts may be, in bytes; values over {@link HEADER_MAX} and {@link BODY_MAX} count as those. */
export interface FrameLimits {
  readonly header: number
  readonly body: number
}

export const WIDEST: FrameLimits = Object.freeze({ header: HEADER_MAX, body: BODY_MAX })

/** The first field of a frame that is wrong. */
export type FrameField =
  | 'magic'
  | 'version'
  | 'kind'
  | 'flags'
  | 'header'
  | 'body'
  | 'exchange'
  | 'trailing'
  | 'cut'
  | 'json'

/** Bytes that are no frame. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
  readonly field: FrameField
  /** The value found, or how many bytes are missing or left over; 0 for `magic` and `json`. */
  readonly found: number

  constructor(field: FrameField, found: number, what: string, options?: ErrorOptions) {
    super(`Reading a frame: ${what}`, options)
    this.field = field
    this.found = found
  }
}

/** The lengths of a frame's parts, in bytes. */
export interface FrameHead {
  readonly headerBytes: number
  readonly bodyBytes: number
}

/** A frame: views into its bytes, copied nowhere. */
export interface Frame {
  readonly header: Uint8Array<ArrayBuffer>
  readonly body: Uint8Array<ArrayBuffer>
}

/** Writes a head to the first {@link HEAD_BYTES} of `target`. The lengths are the caller's to have checked. */
export function writeHead(target: Uint8Array, kind: FrameKind, headerBytes: number, bodyBytes: number): void {
  target[0] = MAGIC[0]!
  target[1] = MAGIC[1]!
  target[2] = MAGIC[2]!
  target[3] = MAGIC[3]!
  target[4] = VERSION
  target[5] = kind
  target[6] = 0
  target[7] = 0
  writeLength(target, 8, headerBytes)
  writeLength(target, 12, bodyBytes)
}

/**
 * Reads a head and checks its fields in their order. Throws `FrameError` for the first that is not as wanted, `cut` for
 * fewer than {@link HEAD_BYTES} bytes that are fine so far.
 */
export function readHead(bytes: Uint8Array, kind: FrameKind, limits: FrameLimits = WIDEST): FrameHead {
  const length = bytes.length
  for (let i = 0; i < 4 && i < length; i++) {
    if (bytes[i] !== MAGIC[i]) throw new FrameError('magic', 0, 'wrong first bytes, wanted MAYF')
  }
  if (length > 4 && bytes[4] !== VERSION) {
    throw new FrameError('version', bytes[4]!, `version ${bytes[4]}, wanted ${VERSION}`)
  }
  if (length > 5 && bytes[5] !== kind) {
    throw new FrameError('kind', bytes[5]!, `kind ${bytes[5]}, wanted the other direction's`)
  }
  if (length > 7 && (bytes[6]! | bytes[7]!) !== 0) {
    const flags = bytes[6]! | bytes[7]! << 8
    throw new FrameError('flags', flags, `flags 0x${flags.toString(16).padStart(4, '0')}, wanted 0`)
  }
  if (length < HEAD_BYTES) {
    throw new FrameError('cut', HEAD_BYTES - length, `${HEAD_BYTES - length} bytes of its head are missing`)
  }
  const headerBytes = readLength(bytes, 8)
  const bodyBytes = readLength(bytes, 12)
  const isMessage = kind === MESSAGE
  if (headerBytes > Math.min(limits.header, isMessage ? EXCHANGE_BYTES + MESSAGE_HEAD_MAX : HEADER_MAX)) {
    throw new FrameError('header', headerBytes, `header of ${headerBytes} bytes, wanted fewer`)
  }
  if (bodyBytes > Math.min(limits.body, isMessage ? MESSAGE_BODY_MAX : BODY_MAX)) {
    throw new FrameError('body', bodyBytes, `body of ${bodyBytes} bytes, wanted fewer`)
  }
  if (isMessage && headerBytes < EXCHANGE_BYTES) {
    throw new FrameError(
      'exchange',
      headerBytes,
      `a message's header of ${headerBytes} bytes, wanted ${EXCHANGE_BYTES} or more`,
    )
  }
  return { headerBytes, bodyBytes }
}

/** Takes exactly one frame apart. Throws `FrameError`. */
export function readFrame(
  bytes: Uint8Array<ArrayBuffer>,
  kind: FrameKind,
  limits: FrameLimits = WIDEST,
): Frame {
  const end = findBody(bytes, kind, limits)
  return { header: bytes.subarray(HEAD_BYTES, end), body: bytes.subarray(end) }
}

/** Where the body of exactly one frame begins, and its header ends. Throws `FrameError`. */
export function findBody(bytes: Uint8Array, kind: FrameKind, limits: FrameLimits = WIDEST): number {
  const { headerBytes, bodyBytes } = readHead(bytes, kind, limits)
  const end = HEAD_BYTES + headerBytes + bodyBytes
  if (bytes.length < end) {
    throw new FrameError('cut', end - bytes.length, `${end - bytes.length} bytes of its parts are missing`)
  }
  if (bytes.length > end) {
    throw new FrameError(
      'trailing',
      bytes.length - end,
      `${bytes.length - end} bytes after its end, wanted none`,
    )
  }
  return HEAD_BYTES + headerBytes
}

/** Makes a frame of its parts. Throws `RangeError` for a part over its limit. */
export function makeFrame(
  kind: FrameKind,
  header: Uint8Array,
  body: Uint8Array,
  limits: FrameLimits = WIDEST,
): Uint8Array<ArrayBuffer> {
  const bytes = startFrame(kind, header.length, body, limits)
  bytes.set(header, HEAD_BYTES)
  return bytes
}

/** The same, but for the header, which is to be written at {@link HEAD_BYTES}. */
export function startFrame(
  kind: FrameKind,
  headerBytes: number,
  body: Uint8Array,
  limits: FrameLimits = WIDEST,
): Uint8Array<ArrayBuffer> {
  checkLength('header', headerBytes, Math.min(limits.header, HEADER_MAX))
  checkLength('body', body.length, Math.min(limits.body, BODY_MAX))
  const bytes = new Uint8Array(HEAD_BYTES + headerBytes + body.length)
  writeHead(bytes, kind, headerBytes, body.length)
  if (body.length > 0) bytes.set(body, HEAD_BYTES + headerBytes)
  return bytes
}

function checkLength(part: string, length: number, most: number): void {
  if (length > most) {
    throw new RangeError(`Making a frame: ${part} of ${length} bytes, wanted at most ${most}`)
  }
}

/** Writes a 32-bit number as frames have them. */
export function writeLength(target: Uint8Array, at: number, value: number): void {
  target[at] = value
  target[at + 1] = value >>> 8
  target[at + 2] = value >>> 16
  target[at + 3] = value >>> 24
}

/** Reads it. */
export function readLength(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24) >>> 0
}
