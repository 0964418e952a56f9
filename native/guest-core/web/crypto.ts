/** Random values, digests and HMAC. https://w3c.github.io/webcrypto/ */
import { CryptoKey } from './crypto_key.ts'
import { DOMException } from './dom_exception.ts'
import { exportHmac, generateHmac, importHmac, signHmac, toWanted, verifyHmac } from './hmac.ts'
import { host } from './host.ts'
import { refuse } from './missing.ts'
import { expose, isBufferSource, need, toText, viewBytes } from './webidl.ts'

const KEY = Symbol('Crypto')
/** Bytes that one call of `getRandomValues` may ask for. */
const QUOTA = 65_536
const DIGESTS: ReadonlySet<string> = new Set(['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'])
const INTEGER_ARRAYS: ReadonlySet<string | undefined> = new Set([
  ...['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array'],
  ...['Uint32Array', 'BigInt64Array', 'BigUint64Array'],
])
const tagOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!
const HEX = '0123456789abcdef'

/** Digests and HMAC; other keys are left to the other runtime. */
export class SubtleCrypto {
  constructor(key?: unknown) {
    if (key !== KEY) throw new TypeError('Illegal constructor: SubtleCrypto')
  }

  // deno-lint-ignore require-await
  async digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
    need(arguments.length, 2, 'SubtleCrypto.digest')
    const known = toDigest(algorithm)
    return host.digest(known, toBytes(data, 'digest')).buffer
  }

  // deno-lint-ignore require-await
  async importKey(
    format: unknown,
    data: unknown,
    algorithm: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey> {
    need(arguments.length, 5, 'SubtleCrypto.importKey')
    const wanted = toWanted(toHmac('importKey', algorithm), extractable, toUsages(usages), toDigest)
    return importHmac(toText(format), data, wanted)
  }

  // deno-lint-ignore require-await
  async generateKey(algorithm: unknown, extractable: unknown, usages: unknown): Promise<CryptoKey> {
    need(arguments.length, 3, 'SubtleCrypto.generateKey')
    return generateHmac(toWanted(toHmac('generateKey', algorithm), extractable, toUsages(usages), toDigest))
  }

  // deno-lint-ignore require-await
  async exportKey(format: unknown, key: unknown): Promise<ArrayBuffer | Record<string, unknown>> {
    need(arguments.length, 2, 'SubtleCrypto.exportKey')
    return exportHmac(toText(format), toKey(key))
  }

  // deno-lint-ignore require-await
  async sign(algorithm: unknown, key: unknown, data: unknown): Promise<ArrayBuffer> {
    need(arguments.length, 3, 'SubtleCrypto.sign')
    toHmac('sign', algorithm)
    return signHmac(toKey(key, 'sign'), toBytes(data, 'sign')).buffer
  }

  // deno-lint-ignore require-await
  async verify(algorithm: unknown, key: unknown, signature: unknown, data: unknown): Promise<boolean> {
    need(arguments.length, 4, 'SubtleCrypto.verify')
    toHmac('verify', algorithm)
    return verifyHmac(toKey(key, 'verify'), toBytes(signature, 'verify'), toBytes(data, 'verify'))
  }
}

for (const name of ['encrypt', 'decrypt', 'deriveBits', 'deriveKey', 'wrapKey', 'unwrapKey']) {
  const method = {
    [name]() {
      return Promise.reject(refuse(`crypto.subtle.${name}`))
    },
  }[name]
  Object.defineProperty(SubtleCrypto.prototype, name, { value: method, writable: true, configurable: true })
}
expose(SubtleCrypto, 'SubtleCrypto')

const subtle = new SubtleCrypto(KEY)

export class Crypto {
  constructor(key?: unknown) {
    if (key !== KEY) throw new TypeError('Illegal constructor: Crypto')
  }

  get subtle(): SubtleCrypto {
    return subtle
  }

  getRandomValues<T extends ArrayBufferView<ArrayBuffer>>(array: T): T {
    need(arguments.length, 1, 'Crypto.getRandomValues')
    if (!ArrayBuffer.isView(array) || !INTEGER_ARRAYS.has(tagOf.call(array))) {
      throw new DOMException('Cannot fill what is no array of integers', 'TypeMismatchError')
    }
    if (array.byteLength > QUOTA) {
      throw new DOMException(
        `Cannot give ${array.byteLength} random bytes: want ${QUOTA} at most`,
        'QuotaExceededError',
      )
    }
    host.entropy(viewBytes(array))
    return array
  }

  randomUUID(): string {
    const bytes = new Uint8Array(16)
    host.entropy(bytes)
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    let text = ''
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) text += '-'
      text += HEX[bytes[i] >>> 4] + HEX[bytes[i] & 15]
    }
    return text
  }
}

expose(Crypto, 'Crypto')

export const crypto = new Crypto(KEY)

/** The name of a digest, as the standard writes it. */
function toDigest(algorithm: unknown): string {
  const name = nameOf(algorithm)
  const known = name.toUpperCase()
  if (DIGESTS.has(known)) return known
  throw new DOMException(`Unrecognized algorithm name: ${name}`, 'NotSupportedError')
}

/** An algorithm that is HMAC. */
function toHmac(what: string, algorithm: unknown): object {
  const name = nameOf(algorithm)
  if (name.toUpperCase() !== 'HMAC') throw refuse(`crypto.subtle.${what} with ${name}`)
  return Object(algorithm)
}

function nameOf(algorithm: unknown): string {
  if (algorithm === null || typeof algorithm !== 'object') return toText(algorithm)
  const { name } = algorithm as { name?: unknown }
  if (name === undefined) throw new TypeError('Cannot choose an algorithm: it has no name')
  return toText(name)
}

function toUsages(usages: unknown): string[] {
  return [...usages as Iterable<unknown>].map(toText)
}

/** A key, which may be used so. */
function toKey(key: unknown, usage?: string): CryptoKey {
  if (!(key instanceof CryptoKey)) throw new TypeError('Cannot use what is no CryptoKey')
  if (usage === undefined || key.usages.includes(usage)) return key
  throw new DOMException(`Cannot ${usage} with a key that is not for it`, 'InvalidAccessError')
}

function toBytes(data: unknown, what: string): Uint8Array<ArrayBuffer> {
  if (isBufferSource(data)) return viewBytes(data)
  throw new TypeError(`Cannot ${what} what is neither an ArrayBuffer nor a view of one`)
}
