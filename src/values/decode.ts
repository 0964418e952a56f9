/**
 * From the message of {@link ./format.ts} to the value. The message may be anybody's: every part is checked before it is believed, and
 * time and memory are linear in its length.
 */
import {
  ERROR_CLASSES,
  ERROR_KEYS,
  hashCost,
  MAX_ERRORS,
  MAX_HASHED,
  MAX_HOLES,
  MAX_PATTERN,
  PLAIN_MARK,
  RAW_MARK,
  ValueError,
  type ViewName,
  VIEWS,
} from './format.ts'

/** How values are read. */
export interface DecodeOptions {
  /** What becomes of the stack of an error. */
  readonly toStack?: (stack: string) => string
  /** Gives what goes beside the value, by its number. Throws for one that is none. Left out: nothing does. */
  readonly toHanded?: ((handed: number) => object) | undefined
}

const { parse } = JSON
const { isArray } = Array
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Reads a message. Throws {@link ValueError} for what is none. */
export function decodeValue(bytes: Uint8Array<ArrayBuffer>, options: DecodeOptions = {}): unknown {
  if (bytes[0] === PLAIN_MARK) return parseText(bytes.subarray(1))
  const mark = bytes.indexOf(RAW_MARK)
  const raw = mark === -1 ? bytes.subarray(bytes.length) : bytes.subarray(mark + 1)
  const document = parseText(mark === -1 ? bytes : bytes.subarray(0, mark))
  if (!isArray(document) || document.length === 0) throw fault('the document', document, 'an array')
  return new Decoder(document, raw, options).root()
}

function parseText(bytes: Uint8Array<ArrayBuffer>): unknown {
  try {
    return parse(decoder.decode(bytes))
  } catch (error) {
    throw new ValueError('Reading a value: its document is no JSON', { cause: error })
  }
}

class Decoder {
  readonly #document: readonly unknown[]
  readonly #raw: Uint8Array<ArrayBuffer>
  readonly #toStack: (stack: string) => string
  readonly #toHanded: DecodeOptions['toHanded']
  /** What node `n` makes. */
  readonly #made: object[] = []
  #at = 0
  #holes = 0
  #hashed = 0
  #errors = 0

  constructor(
    document: readonly unknown[],
    raw: Uint8Array<ArrayBuffer>,
    { toStack, toHanded }: DecodeOptions,
  ) {
    this.#document = document
    this.#raw = raw
    this.#toStack = toStack ?? ((stack) => stack)
    this.#toHanded = toHanded
  }

  /** All objects first, so that any of them can be a member of any. */
  root(): unknown {
    const document = this.#document
    for (let i = 1; i < document.length; i++) this.#made.push(this.#make(nodeOf(document[i])))
    if (this.#at !== this.#raw.length) throw fault('the raw bytes', this.#raw.length, `${this.#at} of them`)
    for (let i = 1; i < document.length; i++) this.#fill(nodeOf(document[i]), this.#made[i - 1]!)
    return this.#value(document[0])
  }

  #make(node: readonly unknown[]): object {
    switch (node[0]) {
      case 'o':
        return {}
      case 'a':
        return []
      case 'h':
        return this.#sparse(node)
      case 'm':
        return new Map()
      case 's':
        return new Set()
      case 'd':
        return new Date(this.#number(node[1]))
      case 'r':
        return toPattern(node)
      case 'w':
        return this.#wrapper(node)
      case 'e':
        return this.#error(node)
      case 'b':
        return this.#bytes(node[1]).buffer
      case 't':
        return this.#view(node)
      case 'x':
        if (this.#toHanded !== undefined) return this.#toHanded(toLength(node[1], 2 ** 32 - 1))
    }
    throw fault('the kind of a node', node[0], 'a known one')
  }

  #fill(node: readonly unknown[], made: object): void {
    switch (node[0]) {
      case 'o':
        return this.#members(node, 1, made)
      case 'a':
        for (let i = 1; i < node.length; i++) (made as unknown[]).push(this.#value(node[i]))
        return
      case 'h':
        return this.#members(node, 2, made)
      case 'm':
        checkPairs(node, 1)
        for (let i = 1; i < node.length; i += 2) {
          ;(made as Map<unknown, unknown>).set(this.#key(node[i]), this.#value(node[i + 1]))
        }
        return
      case 's':
        for (let i = 1; i < node.length; i++) (made as Set<unknown>).add(this.#key(node[i]))
        return
      case 'e':
        checkPairs(node, 4)
        for (let i = 4; i < node.length; i += 2) {
          if (!ERROR_KEYS.includes(node[i] as never)) {
            throw fault('a member of an error', node[i], 'a known one')
          }
          define(made, node[i] as string, this.#value(node[i + 1]))
        }
    }
  }

  #members(node: readonly unknown[], first: number, made: object): void {
    checkPairs(node, first)
    for (let i = first; i < node.length; i += 2) {
      const key = node[i]
      const value = this.#value(node[i + 1])
      if (typeof key !== 'string') throw fault('a key', key, 'text')
      if (key === '__proto__') {
        Object.defineProperty(made, key, { value, writable: true, enumerable: true, configurable: true })
      } else if (first === 1) {
        ;(made as Record<string, unknown>)[key] = value
      } else {
        this.#element(made as unknown[], key, value)
      }
    }
  }

  /** A member of an array may not move its end, which is counted. */
  #element(array: unknown[], key: string, value: unknown): void {
    const index = Number(key)
    const isIndex = `${index >>> 0}` === key && index < 2 ** 32 - 1
    if (key === 'length' || (isIndex && index >= array.length)) {
      throw fault('a key of an array', key, `none at its end, ${array.length}`)
    }
    array[key as unknown as number] = value
  }

  #value(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (!isArray(value)) throw fault('a value', value, 'no object')
    const [kind, text] = value
    if (typeof kind === 'number') {
      if (value.length !== 1 || !Number.isInteger(kind) || kind < 0 || kind >= this.#made.length) {
        throw fault('a reference', kind, `a node below ${this.#made.length}`)
      }
      return this.#made[kind]
    }
    if (kind === 'n') return toBigInt(text)
    if (value.length !== 1 || !SPECIAL.has(kind)) throw fault('a value', kind, 'a known kind')
    return SPECIAL.get(kind)
  }

  #key(value: unknown): unknown {
    const key = this.#value(value)
    this.#hashed += hashCost(key)
    if (this.#hashed > MAX_HASHED) {
      throw fault('the number of keys that are numbers', this.#hashed, `at most ${MAX_HASHED}`)
    }
    return key
  }

  #number(value: unknown): number {
    const number = this.#value(value)
    if (typeof number !== 'number') throw fault('a number', number, 'one')
    return number
  }

  #sparse(node: readonly unknown[]): unknown[] {
    const length = toLength(node[1], MAX_HOLES - this.#holes)
    this.#holes += length
    const array: unknown[] = []
    array.length = length
    return array
  }

  #wrapper(node: readonly unknown[]): object {
    const value = this.#value(node[1])
    if (['boolean', 'number', 'string', 'bigint'].includes(typeof value)) return Object(value)
    throw fault('what an object wraps', value, 'a primitive')
  }

  #error([, type, message, stack]: readonly unknown[]): object {
    if (++this.#errors > MAX_ERRORS) {
      throw fault('the number of errors', this.#errors, `at most ${MAX_ERRORS}`)
    }
    if (typeof type !== 'string') throw fault('the class of an error', type, 'text')
    if (typeof message !== 'string') throw fault('the message of an error', message, 'text')
    const error = makeError(type, message)
    const told = this.#value(stack)
    if (told !== undefined && typeof told !== 'string') throw fault('a stack', told, 'text')
    define(error, 'stack', told === undefined ? `${type}: ${message}` : this.#toStack(told))
    return error
  }

  #bytes(length: unknown): Uint8Array<ArrayBuffer> {
    const end = this.#at + toLength(length, this.#raw.length - this.#at)
    const bytes = this.#raw.slice(this.#at, end)
    this.#at = end
    return bytes
  }

  #view([, type, length]: readonly unknown[]): object {
    if (typeof type !== 'string' || !Object.hasOwn(VIEWS, type)) throw fault('a view', type, 'a known one')
    const View = VIEWS[type as ViewName] as {
      new (buffer: ArrayBuffer): ArrayBufferView
      BYTES_PER_ELEMENT?: number
    }
    const { BYTES_PER_ELEMENT: size = 1 } = View
    const { buffer } = this.#bytes(length)
    if (buffer.byteLength % size !== 0) throw fault(`the bytes of a ${type}`, length, `a multiple of ${size}`)
    return new View(buffer)
  }
}

const SPECIAL: ReadonlyMap<unknown, unknown> = new Map<unknown, unknown>([
  ['u', undefined],
  ['-0', -0],
  ['NaN', NaN],
  ['+I', Infinity],
  ['-I', -Infinity],
])

function nodeOf(value: unknown): readonly unknown[] {
  if (isArray(value)) return value
  throw fault('a node', value, 'an array')
}

function checkPairs(node: readonly unknown[], first: number): void {
  if ((node.length - first) % 2 !== 0) throw fault('the members of a node', node.length - first, 'pairs')
}

function toLength(value: unknown, most: number): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most) return value as number
  throw fault('a length', value, `an integer from 0 to ${most}`)
}

function toBigInt(text: unknown): bigint {
  const [, sign, digits] = (typeof text === 'string' && /^(-?)([0-9a-f]+)$/.exec(text)) || []
  if (digits === undefined) throw fault('a bigint', text, 'hexadecimal digits')
  const value = BigInt(`0x${digits}`)
  return sign === '' ? value : -value
}

function toPattern([, source, flags]: readonly unknown[]): RegExp {
  if (typeof source !== 'string' || typeof flags !== 'string' || source.length > MAX_PATTERN) {
    throw fault('a regular expression', source, `text of at most ${MAX_PATTERN} characters`)
  }
  try {
    return new RegExp(source, flags)
  } catch (error) {
    throw new ValueError('Reading a value: its regular expression is none', { cause: error })
  }
}

function makeError(type: string, message: string): Error {
  if (type === 'DOMException') return new DOMException(message)
  if (type === 'AggregateError') return new AggregateError([], message)
  const known = Object.hasOwn(ERROR_CLASSES, type)
  return new ERROR_CLASSES[known ? type as keyof typeof ERROR_CLASSES : 'Error'](message)
}

function define(error: object, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, enumerable: false, configurable: true })
}

function fault(what: string, value: unknown, wanted: string): ValueError {
  return new ValueError(`Reading a value: ${what} is ${show(value)}, want ${wanted}`)
}

/** A few words about a value, however large it is. */
function show(value: unknown): string {
  if (isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  return value.length > 60 ? `${JSON.stringify(value.slice(0, 60))}...` : JSON.stringify(value)
}
