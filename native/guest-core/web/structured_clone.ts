/** Deep copies. https://html.spec.whatwg.org/multipage/structured-data.html#structuredserializeinternal */
import { Blob, blobBytes, File } from './blob.ts'
import { DOMException } from './dom_exception.ts'
import { need, toDictionary } from './webidl.ts'

const ERRORS: Readonly<Record<string, ErrorConstructor>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
}

type ViewType = new (buffer: ArrayBuffer, offset: number, length: number) => ArrayBufferView

const VIEWS: Record<string, ViewType & { BYTES_PER_ELEMENT: number }> = {
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
  ...(typeof Float16Array === 'undefined' ? {} : { Float16Array }),
}
const tagOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!

/** What was copied, by what it was copied of: cycles stay cycles. */
type Seen = Map<object, unknown>

export function structuredClone(value: unknown, options?: unknown): unknown {
  need(arguments.length, 1, 'structuredClone')
  const { transfer } = toDictionary(options, 'the options of structuredClone')
  const moved = toTransferList(transfer)
  const seen: Seen = new Map()
  for (const buffer of moved) seen.set(buffer, copyBuffer(buffer))
  const copied = copy(value, seen)
  // Only now: a value that cannot be copied leaves everything as it is.
  for (const buffer of moved) buffer.transfer(0)
  return copied
}

function toTransferList(transfer: unknown): ArrayBuffer[] {
  if (transfer === undefined || transfer === null) return []
  const list = [...transfer as Iterable<unknown>]
  for (const [index, item] of list.entries()) {
    if (!(item instanceof ArrayBuffer)) throw refused('what cannot be transferred')
    if (item.detached || list.indexOf(item) !== index) throw refused('a buffer that is gone')
  }
  return list as ArrayBuffer[]
}

function copy(value: unknown, seen: Seen): unknown {
  if (typeof value === 'symbol') throw refused(String(value))
  if (typeof value === 'function') throw refused(`the function ${value.name}`)
  if (typeof value !== 'object' || value === null) return value
  if (seen.has(value)) return seen.get(value)
  const prototype = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return copyMembers(value, {}, seen)
  if (Array.isArray(value)) return copyMembers(value, new Array(value.length), seen)
  return copyOther(value, seen)
}

function copyMembers(value: object, target: object, seen: Seen): object {
  seen.set(value, target)
  for (const key of Object.keys(value)) {
    // A getter may have removed it.
    if (!Object.hasOwn(value, key)) continue
    const member = copy((value as Record<string, unknown>)[key], seen)
    Object.defineProperty(target, key, {
      value: member,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
  return target
}

function copyOther(value: object, seen: Seen): unknown {
  const simple = copySimple(value, seen)
  if (simple !== undefined) {
    seen.set(value, simple)
    return simple
  }
  if (value instanceof Map) {
    const target = new Map()
    seen.set(value, target)
    for (const [key, member] of [...value]) target.set(copy(key, seen), copy(member, seen))
    return target
  }
  if (value instanceof Set) {
    const target = new Set()
    seen.set(value, target)
    for (const member of [...value]) target.add(copy(member, seen))
    return target
  }
  if (value instanceof Error) return copyError(value, seen)
  if (isUncopyable(value)) throw refused(Object.prototype.toString.call(value))
  return copyMembers(value, {}, seen)
}

/** What holds no other value; undefined for the rest. */
function copySimple(value: object, seen: Seen): object | undefined {
  if (value instanceof Date) return new Date(value.getTime())
  if (value instanceof RegExp) return new RegExp(value.source, value.flags)
  if (value instanceof Boolean || value instanceof Number || value instanceof String) {
    return Object(value.valueOf())
  }
  if (value instanceof BigInt) return Object(BigInt.prototype.valueOf.call(value))
  if (value instanceof ArrayBuffer) return copyBuffer(value)
  if (typeof SharedArrayBuffer !== 'undefined' && value instanceof SharedArrayBuffer) return value
  if (ArrayBuffer.isView(value)) return copyView(value, seen)
  if (value instanceof File) {
    const { name, type, lastModified } = value
    return new File([blobBytes(value)], name, { type, lastModified })
  }
  if (value instanceof Blob) return new Blob([blobBytes(value)], { type: value.type })
}

function copyBuffer(value: ArrayBuffer): ArrayBuffer {
  if (value.detached) throw refused('an ArrayBuffer that is detached')
  if (!value.resizable) return value.slice(0)
  const target = new ArrayBuffer(value.byteLength, { maxByteLength: value.maxByteLength })
  new Uint8Array(target).set(new Uint8Array(value))
  return target
}

function copyView(value: ArrayBufferView, seen: Seen): ArrayBufferView {
  const { byteOffset, byteLength } = value
  const target = copy(value.buffer, seen) as ArrayBuffer
  if (value instanceof DataView) return new DataView(target, byteOffset, byteLength)
  const type = VIEWS[tagOf.call(value)]
  return new type(target, byteOffset, byteLength / type.BYTES_PER_ELEMENT)
}

/** The name decides on the kind; a class of the application's own becomes an `Error`. */
function copyError(value: Error, seen: Seen): Error {
  if (value instanceof DOMException) return new DOMException(value.message, value.name)
  const type = ERRORS[String(value.name)] ?? Error
  const made = new type()
  seen.set(value, made)
  for (const key of ['message', 'stack', 'cause'] as const) {
    const described = Object.getOwnPropertyDescriptor(value, key)
    if (described === undefined || (key === 'message' && !('value' in described))) continue
    const member = key === 'cause' ? copy(value.cause, seen) : `${value[key]}`
    Object.defineProperty(made, key, { value: member, writable: true, configurable: true })
  }
  return made
}

function isUncopyable(value: object): boolean {
  return value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet ||
    value instanceof WeakRef
}

function refused(what: string): DOMException {
  return new DOMException(`Cannot clone ${what}`, 'DataCloneError')
}
