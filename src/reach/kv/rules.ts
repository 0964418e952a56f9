/** What keys, values and spaces may be: whoever asks may be hostile. */
import { KvError, type KvListOptions, type KvRules, type KvSetOptions, type Stored } from './store.ts'
import { decodeValue } from '../../values/decode.ts'
import { encodeValue, joinMessage } from '../../values/encode.ts'

/** Bytes of a key. */
export const MAX_KEY_BYTES = 512
/** Bytes of a value. */
export const MAX_VALUE_BYTES = 1 << 20
/** Keys of a list. */
export const MAX_LIST = 1000
const MAX_TTL_MS = 100 * 365 * 86_400_000

const encoder = new TextEncoder()

/** A key; throws `TypeError` or `RangeError` for what is none. */
export function checkKey(attempt: string, key: unknown): string {
  if (typeof key !== 'string' || key === '' || !key.isWellFormed()) {
    throw new TypeError(`Cannot ${attempt}: the key is ${shown(key)}, want text`)
  }
  // Three bytes at most for each unit: long texts are refused without being encoded.
  if (key.length > MAX_KEY_BYTES || encoder.encode(key).length > MAX_KEY_BYTES) {
    throw new RangeError(`Cannot ${attempt}: the key is too long, want at most ${MAX_KEY_BYTES} bytes`)
  }
  return key
}

/** When a value is gone; null: it stays. */
export function checkExpiry(attempt: string, options: KvSetOptions | undefined, now: number): number | null {
  const { ttlMs } = checkObject(attempt, options)
  if (ttlMs === undefined) return null
  if (typeof ttlMs !== 'number' || !(ttlMs >= 1 && ttlMs <= MAX_TTL_MS)) {
    throw new RangeError(`Cannot ${attempt}: ttlMs is ${shown(ttlMs)}, want 1 to ${MAX_TTL_MS} milliseconds`)
  }
  return now + Math.ceil(ttlMs)
}

/** What a list is asked for. */
export function checkList(options: KvListOptions | undefined): Required<KvListOptions> {
  const { prefix = '', cursor = '', limit = 100 } = checkObject('list keys', options)
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_LIST) {
    throw new RangeError(`Cannot list keys: limit is ${shown(limit)}, want 1 to ${MAX_LIST}`)
  }
  return {
    prefix: prefix === '' ? '' : checkKey('list keys', prefix),
    cursor: cursor === '' ? '' : checkKey('list keys', cursor),
    limit,
  }
}

/** A value as it is kept. Throws `DataCloneError` for what has no data in it, `RangeError` for too much. */
export function toStored(attempt: string, value: unknown): Stored {
  if (value === undefined) throw new TypeError(`Cannot ${attempt}: the value is undefined, want one`)
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return value as number
  const bytes = joinMessage(encodeValue(value, { stacks: false }))
  if (bytes.length > MAX_VALUE_BYTES) {
    throw new RangeError(
      `Cannot ${attempt}: the value has ${bytes.length} bytes, want at most ${MAX_VALUE_BYTES}`,
    )
  }
  return bytes
}

/** The value of what was kept. */
export function fromStored(stored: Stored | undefined): unknown {
  return typeof stored === 'object' ? decodeValue(stored) : stored
}

/** An integer that is added. */
export function checkStep(by: unknown): number {
  if (Number.isSafeInteger(by)) return by as number
  throw new TypeError(`Cannot increment: the step is ${shown(by)}, want an integer`)
}

/** Bytes that a key and its value count. */
export function weigh(keyBytes: number, value: Stored): number {
  return keyBytes + (typeof value === 'number' ? 8 : value.length)
}

/** The error for a space that is full. */
export function fullError({ maxKeys, maxBytes }: KvRules): KvError {
  return new KvError(
    `Cannot set a key: the prefix is full, want at most ${maxKeys} keys and ${maxBytes} bytes`,
  )
}

/** The error for a number that is none. */
export function noNumberError(): KvError {
  return new KvError('Cannot increment: the value, or the sum, is no integer of at most 53 bits')
}

function checkObject<T extends object>(attempt: string, options: T | undefined): Partial<T> {
  if (options === undefined || options === null) return {}
  if (typeof options === 'object') return options
  throw new TypeError(`Cannot ${attempt}: the options are ${shown(options)}, want an object`)
}

function shown(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value.slice(0, 40))
    : typeof value === 'number'
    ? `${value}`
    : typeof value
}
