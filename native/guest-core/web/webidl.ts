/** What scripts can see of Web IDL: conversions, argument counts, the shape of interfaces. https://webidl.spec.whatwg.org */

/** Any class. */
// deno-lint-ignore no-explicit-any
export type Class = abstract new (...args: any[]) => object

/** Throws `TypeError` when a call has too few arguments. */
export function need(given: number, wanted: number, what: string): void {
  if (given >= wanted) return
  throw new TypeError(`Cannot call ${what}: ${given} of ${wanted} arguments`)
}

/** DOMString: `String(value)`, but a symbol throws. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : `${value}`
}

/** USVString: a text without lone surrogates. */
export function toScalarText(value: unknown): string {
  return toText(value).toWellFormed()
}

/** ByteString: each character is a byte. */
export function toByteText(value: unknown, what: string): string {
  const text = toText(value)
  if (!isByteText(text)) {
    throw new TypeError(`Cannot use ${JSON.stringify(text)} as ${what}: it has characters over U+00FF`)
  }
  return text
}

/** Whether each character is a byte. */
export function isByteText(text: string): boolean {
  // deno-lint-ignore no-control-regex
  return !/[^\u0000-\u00ff]/.test(text)
}

/** A dictionary: undefined and null are an empty one, what is no object throws. */
export function toDictionary(value: unknown, what: string): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (typeof value === 'object' || typeof value === 'function') return value as Record<string, unknown>
  throw new TypeError(`Cannot use ${typeof value} as ${what}: want an object`)
}

/** One of the values of an enumeration. */
export function toEnum<T extends string>(value: unknown, values: readonly T[], what: string): T {
  const text = toText(value)
  if ((values as readonly string[]).includes(text)) return text as T
  throw new TypeError(`Cannot use ${JSON.stringify(text)} as ${what}: want one of ${values.join(', ')}`)
}

/** `unsigned short`. */
export function toUint16(value: unknown): number {
  return Number(value) & 0xffff
}

/** `[Clamp] long long`. */
export function toClampedInteger(value: unknown): number {
  const number = Number(value)
  if (Number.isNaN(number)) return 0
  return Math.min(Math.max(Math.round(number), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}

/** True for an `ArrayBuffer`, a `SharedArrayBuffer` or a view of one. */
export function isBufferSource(value: unknown): value is ArrayBufferView<ArrayBuffer> | ArrayBuffer {
  return ArrayBuffer.isView(value) || isBuffer(value)
}

function isBuffer(value: unknown): boolean {
  if (value instanceof ArrayBuffer) return true
  return typeof SharedArrayBuffer !== 'undefined' && value instanceof SharedArrayBuffer
}

/** The bytes of a buffer source, in place. */
export function viewBytes(source: ArrayBufferView<ArrayBuffer> | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (source instanceof Uint8Array) return source as Uint8Array<ArrayBuffer>
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  return new Uint8Array(source)
}

/**
 * A sequence of pairs, or a record, of what `convert` makes of both halves. Keys of a record that are symbols are left out, as
 * Deno does it.
 */
export function toPairs(
  init: object,
  convert: (text: unknown) => string,
  what: string,
): [string, string][] {
  const pairs: [string, string][] = []
  const iterate = (init as { [Symbol.iterator]?: unknown })[Symbol.iterator]
  if (iterate === undefined || iterate === null) {
    const keys = Object.keys(init)
    for (let at = 0; at < keys.length; at++) {
      pairs.push([convert(keys[at]), convert((init as Record<string, unknown>)[keys[at]])])
    }
    return pairs
  }
  const items = Array.isArray(init) ? init : [...init as Iterable<unknown>]
  for (let at = 0; at < items.length; at++) {
    const item: unknown = items[at]
    if (Object(item) !== item) {
      throw new TypeError(`Cannot make ${what}: an item is ${typeof item}, want a pair`)
    }
    const pair = Array.isArray(item) ? item : [...item as Iterable<unknown>]
    if (pair.length !== 2) {
      throw new TypeError(`Cannot make ${what}: an item has ${pair.length} members, want a pair`)
    }
    pairs.push([convert(pair[0]), convert(pair[1])])
  }
  return pairs
}

/**
 * Gives a class the shape of an interface: its name, members that `for in` sees, `Object.prototype.toString`. Names of the language
 * and those that begin with a symbol stay hidden.
 */
export function expose<T extends Class>(type: T, name: string): T {
  Object.defineProperty(type, 'name', { value: name, configurable: true })
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true })
  show(type.prototype)
  show(type)
  return type
}

const LANGUAGE: ReadonlySet<string> = new Set(['constructor', 'length', 'name', 'prototype'])

function show(target: object): void {
  for (const key of Object.getOwnPropertyNames(target)) {
    if (!LANGUAGE.has(key) || (key === 'name' && isAccessor(target, key))) {
      const described = Object.getOwnPropertyDescriptor(target, key)!
      if (described.configurable && !described.enumerable) {
        Object.defineProperty(target, key, { enumerable: true })
      }
    }
  }
}

function isAccessor(target: object, key: string): boolean {
  return Object.getOwnPropertyDescriptor(target, key)?.get !== undefined
}

/** Puts constants on an interface and its prototype. */
export function defineConstants(type: Class, constants: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(constants)) {
    for (const target of [type, type.prototype]) {
      Object.defineProperty(target, name, { value, enumerable: true })
    }
  }
}
