/** Random values and digests. https://w3c.github.io/webcrypto/ */
import { DOMException } from './dom_exception.ts'
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

/** Digests; what needs keys is left to the other runtime. */
export class SubtleCrypto {
  constructor(key?: unknown) {
    if (key !== KEY) throw new TypeError('Illegal constructor: SubtleCrypto')
  }

  // deno-lint-ignore require-await
  async digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
    need(arguments.length, 2, 'SubtleCrypto.digest')
    const name = toText(algorithm !== null && typeof algorithm === 'object' ? toName(algorithm) : algorithm)
    const known = name.toUpperCase()
    if (!DIGESTS.has(known)) {
      throw new DOMException(`Unrecognized algorithm name: ${name}`, 'NotSupportedError')
    }
    if (!isBufferSource(data)) {
      throw new TypeError('Cannot digest what is neither an ArrayBuffer nor a view of one')
    }
    return host.digest(known, viewBytes(data)).buffer
  }
}

for (
  const name of [
    ...['encrypt', 'decrypt', 'sign', 'verify', 'deriveBits', 'deriveKey', 'importKey', 'exportKey'],
    ...['generateKey', 'wrapKey', 'unwrapKey'],
  ]
) {
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

function toName(algorithm: object): unknown {
  const { name } = algorithm as { name?: unknown }
  if (name === undefined) throw new TypeError('Cannot choose an algorithm: it has no name')
  return name
}
