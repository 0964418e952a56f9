/**
 * Values on their way between the host and a machine: what the structured clone algorithm passes, as JSON and raw bytes.
 *
 * ```text
 * message:  document [ 0x00 raw ]            JSON text holds no byte 0x00
 *           = JSON                           the value itself, where JSON says all of it: what most messages are, and read the quickest
 * document: [ root, node 0, node 1, ... ]    nothing is nested deeper than three arrays, so nobody recurses
 * value:    null  true  1.5  "text"          as in JSON
 *           [3]                              the object that node 3 makes: shared, and in circles, as it was
 *           ["u"] ["-0"] ["NaN"] ["+I"] ["-I"]      undefined, and numbers that JSON has not
 *           ["n", "-ff"]                     a bigint, in hexadecimal: read in linear time
 * node:     ["o", key, value, ...]           an object
 *           ["a", value, ...]                an array without holes
 *           ["h", length, key, value, ...]   an array with holes, or with keys that are no indices
 *           ["m", key, value, ...]           a Map
 *           ["s", value, ...]                a Set
 *           ["d", milliseconds]              a Date
 *           ["r", source, flags]             a RegExp
 *           ["w", value]                     a Boolean, Number, String or BigInt object
 *           ["e", class, message, stack, key, value, ...]      an error, and of its members those of ERROR_KEYS
 *           ["b", length]                    an ArrayBuffer
 *           ["t", type, length]              a view on bytes of its own, length in bytes
 *           ["x", number]                    what goes beside the value, where both sides agree on that: a stream
 * ```
 * The bytes of buffers and views lie in `raw` one after the other, in the order of their nodes: no byte is told twice, so a value is as
 * large as its message.
 */

/** Between the document and the raw bytes. */
export const RAW_MARK = 0
/** Before a value that is its JSON: `=`. */
export const PLAIN_MARK = 0x3d
/** Objects in one another of such a value, at most: who reads JSON may recurse. */
export const PLAIN_DEPTH = 64

/** Classes of errors that stay what they are; all others become `Error` with their name. */
export const ERROR_CLASSES = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
} as const

/** What an error brings beside its class, message and stack, where it is there. */
export const ERROR_KEYS = ['name', 'cause', 'errors', 'code'] as const

/** Views by the name of their class. */
export const VIEWS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
} as const

/** Name of a class of views. */
export type ViewName = keyof typeof VIEWS

/** Holes of all arrays of a message: none costs a byte there, and each costs memory. */
export const MAX_HOLES = 1 << 20
/**
 * Keys of Maps and members of Sets that are numbers, of a message; a bigint counts as {@linkcode BIGINT_KEYS}. V8 hashes them without a
 * secret, so somebody can choose them to fall on one another, and each insertion then passes by all before it: 60 ms for these many.
 */
export const MAX_HASHED = 4096
const BIGINT_KEYS = 4

/** What a key counts towards {@linkcode MAX_HASHED}. Texts and objects have hashes that nobody foresees. */
export function hashCost(key: unknown): number {
  return typeof key === 'number' ? 1 : typeof key === 'bigint' ? BIGINT_KEYS : 0
}

/** Errors of a message: making one takes some 10 us, as it looks at the stack of who makes it. */
export const MAX_ERRORS = 1000
/** Characters of a regular expression: parsing one takes more than linear time. */
export const MAX_PATTERN = 1 << 12

/** A value that cannot be passed on; the standard's `DataCloneError`. */
export function cloneError(message: string): DOMException {
  return new DOMException(message, 'DataCloneError')
}

/** Bytes that are no message. */
export class ValueError extends TypeError {
  override readonly name = 'ValueError'
}
