/** From a value to the message of {@link ./format.ts}. It runs on both sides; what it needs of the language is taken before any program runs. */
import {
  cloneError,
  ERROR_CLASSES,
  ERROR_KEYS,
  hashCost,
  MAX_ERRORS,
  MAX_HASHED,
  MAX_HOLES,
  MAX_PATTERN,
  PLAIN_DEPTH,
  VIEWS,
} from './format.ts'

/** A message in parts: its text, and the bytes of its buffers. */
export interface EncodedValue {
  /** JSON, or `=` and JSON; only ever ASCII or well-formed Unicode. */
  readonly text: string
  readonly raw: readonly Uint8Array[]
}

/** How values are told. */
export interface EncodeOptions {
  /** The stacks of errors go along. The host's never do: they name its files. */
  readonly stacks: boolean
  /** The number of what goes beside the value, and is no data: a stream. Undefined for what does not. */
  readonly hand?: ((object: object) => number | undefined) | undefined
}

// A program may replace all of these; its own answer would then fail in odd ways.
const { stringify } = JSON
const { isArray } = Array
const { is, keys, getPrototypeOf, prototype: plainPrototype } = Object
const { isView } = ArrayBuffer
const { call } = Function.prototype
/** A method as a function of its object. */
const unbound = (method: unknown) =>
  call.bind(method as never) as (self: unknown, ...args: unknown[]) => unknown
const getter = (prototype: object, name: PropertyKey) =>
  unbound(Object.getOwnPropertyDescriptor(prototype, name)!.get)
const idOf = unbound(Map.prototype.get)
const setId = unbound(Map.prototype.set)
const eachEntry = unbound(Map.prototype.forEach)
const eachMember = unbound(Set.prototype.forEach)
const toHex = unbound(BigInt.prototype.toString)
const timeOf = unbound(Date.prototype.getTime)
const isMap = probe(getter(Map.prototype, 'size'))
const isSet = probe(getter(Set.prototype, 'size'))
const isDate = probe(timeOf)
const isBuffer = probe(getter(ArrayBuffer.prototype, 'byteLength'))
const isPattern = probe(getter(RegExp.prototype, 'source'))
const wrapped = [Boolean, Number, String, BigInt].map((kind) => unbound(kind.prototype.valueOf))
const tagOf = getter(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
const { isError = (value: unknown): boolean => value instanceof Error } = Error as {
  isError?: (value: unknown) => boolean
}
const NativeException = DOMException
const Bytes = Uint8Array

/** Says whether a value is of the class whose member this is, whatever it claims to be. */
function probe(member: (self: unknown) => unknown): (value: object) => boolean {
  return (value) => {
    try {
      member(value)
      // The prototype itself has a source, and no expression.
      return value !== RegExp.prototype
    } catch {
      return false
    }
  }
}

const Table = Map

/** What was read of an object: its keys, and what those had, as far as that went. Getters are called once, whatever comes of it. */
interface Seen {
  readonly names: readonly string[]
  readonly values: unknown[]
}

/**
 * The JSON of a value that is all there; null for one that is more than that: shared, in a circle, of a class, or nothing that JSON has.
 * `seen` gets what was read.
 */
function plainText(value: unknown, seen: Map<object, Seen>, depth: number): string | null {
  switch (typeof value) {
    case 'string':
      return stringify(value)
    case 'number':
      return value - value === 0 && !is(value, -0) ? `${value}` : null
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      break
    default:
      return null
  }
  if (value === null) return 'null'
  if (depth === PLAIN_DEPTH || idOf(seen, value) !== undefined) return null
  const isList = isArray(value)
  if (!isList) {
    const prototype = getPrototypeOf(value)
    if (prototype !== plainPrototype && prototype !== null) return null
  }
  const names = keys(value)
  const values: unknown[] = []
  setId(seen, value, { names, values })
  // A hole reads as undefined, which JSON has not.
  if (isList && names.length !== value.length) return null
  let text = ''
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    const member = values[i] = (value as Record<string, unknown>)[name]
    const told = plainText(member, seen, depth + 1)
    if (told === null || (isList && name !== `${i}`)) return null
    if (i > 0) text += ','
    text += isList ? told : `${stringify(name)}:${told}`
  }
  return isList ? `[${text}]` : `{${text}}`
}

class Encoder {
  readonly #stacks: boolean
  readonly #hand: EncodeOptions['hand']
  readonly #ids = new Map<object, number>()
  readonly #queue: object[] = []
  readonly raw: Uint8Array[] = []
  readonly #seen: Map<object, Seen>
  #holes = 0
  #hashed = 0
  #errors = 0

  constructor({ stacks, hand }: EncodeOptions, seen: Map<object, Seen>) {
    this.#seen = seen
    this.#stacks = stacks
    this.#hand = hand
  }

  /** Objects wait in a line, so that a list of a million links needs no stack. */
  document(root: unknown): string {
    let text = `[${this.#value(root, 'the value')}`
    for (let index = 0; index < this.#queue.length; index++) text += `,${this.#node(this.#queue[index]!)}`
    return `${text}]`
  }

  #value(value: unknown, name: string): string {
    switch (typeof value) {
      case 'string':
        return stringify(value)
      case 'number':
        if (value - value === 0 && !is(value, -0)) return `${value}`
        return is(value, -0) ? '["-0"]' : value > 0 ? '["+I"]' : value < 0 ? '["-I"]' : '["NaN"]'
      case 'boolean':
        return value ? 'true' : 'false'
      case 'undefined':
        return '["u"]'
      case 'bigint':
        return `["n","${toHex(value, 16)}"]`
      case 'object':
        return value === null ? 'null' : `[${this.#reference(value)}]`
      default:
        throw cloneError(`Cannot pass ${name}: it is a ${typeof value}, want data`)
    }
  }

  #reference(object: object): number {
    const known = idOf(this.#ids, object) as number | undefined
    if (known !== undefined) return known
    const id = this.#queue.length
    setId(this.#ids, object, id)
    this.#queue[id] = object
    return id
  }

  #node(object: object): string {
    if (isArray(object)) return this.#array(object)
    const prototype = getPrototypeOf(object)
    if (prototype === plainPrototype || prototype === null) return this.#object(object)
    if (isMap(object)) return this.#map(object as Map<unknown, unknown>)
    if (isSet(object)) return this.#set(object as Set<unknown>)
    if (isView(object)) return this.#view(object)
    if (isBuffer(object)) return this.#buffer(object as ArrayBuffer)
    if (isDate(object)) return `["d",${this.#value(timeOf(object as Date), 'a date')}]`
    if (isError(object) || object instanceof NativeException) return this.#error(object as Error)
    if (isPattern(object)) return this.#pattern(object as RegExp)
    for (const valueOf of wrapped) {
      try {
        return `["w",${this.#value(valueOf(object), 'a value')}]`
      } catch {
        // Of another class.
      }
    }
    const handed = this.#hand?.(object)
    if (handed !== undefined) return `["x",${handed}]`
    refuseKnown(object)
    return this.#object(object)
  }

  #object(object: object): string {
    return `["o"${this.#members(object, this.#read(object))}]`
  }

  /** What was read of an object; nothing yet of one that nobody has seen. */
  #read(object: object): Seen {
    return (idOf(this.#seen, object) as Seen | undefined) ?? { names: keys(object), values: [] }
  }

  #members(object: object, { names, values }: Seen): string {
    let text = ''
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!
      const value = i < values.length ? values[i] : (object as Record<string, unknown>)[name]
      text += `,${stringify(name)},${this.#value(value, name)}`
    }
    return text
  }

  #array(array: readonly unknown[]): string {
    const { length } = array
    const seen = this.#read(array)
    const { names, values } = seen
    let dense = names.length === length
    for (let i = 0; dense && i < length; i++) dense = names[i] === `${i}`
    if (!dense) {
      this.#holes += length
      if (this.#holes > MAX_HOLES) {
        throw cloneError(`Cannot pass an array: ${length} places with holes, want at most ${MAX_HOLES}`)
      }
      return `["h",${length}${this.#members(array, seen)}]`
    }
    let text = '["a"'
    for (let i = 0; i < length; i++) {
      text += `,${this.#value(i < values.length ? values[i] : array[i], `${i}`)}`
    }
    return `${text}]`
  }

  #map(map: Map<unknown, unknown>): string {
    let text = '["m"'
    eachEntry(map, (value: unknown, key: unknown) => {
      text += `,${this.#key(key)},${this.#value(value, 'a value of a Map')}`
    })
    return `${text}]`
  }

  #set(set: Set<unknown>): string {
    let text = '["s"'
    eachMember(set, (member: unknown) => {
      text += `,${this.#key(member)}`
    })
    return `${text}]`
  }

  #key(key: unknown): string {
    this.#hashed += hashCost(key)
    if (this.#hashed > MAX_HASHED) {
      throw cloneError(`Cannot pass a Map or Set: over ${MAX_HASHED} numbers as keys, want an array`)
    }
    return this.#value(key, 'a key')
  }

  #pattern({ source, flags }: RegExp): string {
    const text = `${source}`
    if (text.length > MAX_PATTERN) {
      throw cloneError(
        `Cannot pass a regular expression: ${text.length} characters, want at most ${MAX_PATTERN}`,
      )
    }
    return `["r",${stringify(text)},${stringify(`${flags}`)}]`
  }

  #error(error: Error): string {
    if (++this.#errors > MAX_ERRORS) {
      throw cloneError(`Cannot pass over ${MAX_ERRORS} errors: want their messages`)
    }
    const type = classOf(error)
    const message = this.#text(() => error.message) ?? ''
    const stack = this.#stacks ? this.#text(() => error.stack) : undefined
    let text = `["e",${stringify(type)},${stringify(message)},${
      stack === undefined ? '["u"]' : stringify(stack)
    }`
    for (const key of ERROR_KEYS) {
      const value = this.#guarded(() => (error as unknown as Record<string, unknown>)[key])
      if (value === undefined || (key === 'name' && value === type)) continue
      if (key === 'name' || key === 'code') {
        if (typeof value !== 'string' && typeof value !== 'number') continue
      } else if (typeof value === 'function' || typeof value === 'symbol') continue
      text += `,"${key}",${this.#value(value, key)}`
    }
    return `${text}]`
  }

  #text(read: () => unknown): string | undefined {
    const value = this.#guarded(read)
    return value === undefined ? undefined : typeof value === 'string' ? value : undefined
  }

  /** Members of errors may be getters that throw: an error is told all the same. */
  #guarded(read: () => unknown): unknown {
    try {
      return read()
    } catch {
      return undefined
    }
  }

  #buffer(buffer: ArrayBuffer): string {
    const bytes = new Bytes(buffer)
    this.raw[this.raw.length] = bytes
    return `["b",${bytes.length}]`
  }

  #view(view: ArrayBufferView): string {
    const type = tagOf(view) as string | undefined ?? 'DataView'
    if (!(type in VIEWS)) throw cloneError(`Cannot pass a ${type}: want another array of numbers`)
    const { buffer, byteOffset, byteLength } = view
    const bytes = new Bytes(buffer, byteOffset, byteLength)
    this.raw[this.raw.length] = bytes
    return `["t","${type}",${bytes.length}]`
  }
}

/** The nearest class of {@link ERROR_CLASSES}, or of the standard's two others. */
function classOf(error: object): string {
  if (error instanceof NativeException) return 'DOMException'
  for (let at: object | null = error, steps = 0; at !== null && steps < 100; steps++) {
    at = getPrototypeOf(at)
    if (at === AggregateError.prototype) return 'AggregateError'
    for (const name of keys(ERROR_CLASSES)) {
      if (at === ERROR_CLASSES[name as keyof typeof ERROR_CLASSES].prototype) return name
    }
  }
  return 'Error'
}

/** Objects that are more than their members; what they have would pass as an empty object. */
const OPAQUE = [
  'Promise',
  'WeakMap',
  'WeakSet',
  'WeakRef',
  'SharedArrayBuffer',
  'Request',
  'Response',
  'Headers',
  'Blob',
  'ReadableStream',
  'WritableStream',
  'FormData',
  'URL',
  'URLSearchParams',
] as const
const opaque = OPAQUE.flatMap((name) => {
  const kind = (globalThis as unknown as Record<string, unknown>)[name]
  return typeof kind === 'function' ? [[name, kind as new () => object] as const] : []
})

function refuseKnown(object: object): void {
  for (const [name, kind] of opaque) {
    if (object instanceof kind) {
      throw cloneError(`Cannot pass a ${name}: want data, such as its text or bytes`)
    }
  }
}

/** Encodes a value. Throws `DataCloneError` for what cannot be passed, and what a getter throws. */
export function encodeValue(value: unknown, options: EncodeOptions): EncodedValue {
  const seen = new Table<object, Seen>()
  const plain = plainText(value, seen, 0)
  if (plain !== null) return { text: `=${plain}`, raw: [] }
  const encoder = new Encoder(options, seen)
  const text = encoder.document(value)
  return { text, raw: encoder.raw }
}

const encoder = new TextEncoder()
const encodeText = encoder.encode.bind(encoder)

/** A message as bytes. */
export function joinMessage({ text, raw }: EncodedValue): Uint8Array<ArrayBuffer> {
  const head = encodeText(text)
  if (raw.length === 0) return head
  let length = head.length + 1
  for (let i = 0; i < raw.length; i++) length += raw[i]!.length
  const bytes = new Bytes(length)
  bytes.set(head)
  let at = head.length + 1
  for (let i = 0; i < raw.length; i++) {
    bytes.set(raw[i]!, at)
    at += raw[i]!.length
  }
  return bytes
}
