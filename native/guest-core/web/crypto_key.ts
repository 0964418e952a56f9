/** Keys of `crypto.subtle`. Their bytes are seen by this folder alone. https://w3c.github.io/webcrypto/#cryptokey-interface */
import { expose } from './webidl.ts'

const KEY = Symbol('CryptoKey')

/** Of an HMAC key; `length` is in bits. */
export interface HmacKeyAlgorithm {
  readonly name: 'HMAC'
  readonly hash: { readonly name: string }
  readonly length: number
}

/** The bytes of a key; undefined for what is none. */
export let keyBytes: (key: object) => Uint8Array<ArrayBuffer> | undefined

export class CryptoKey {
  readonly #bytes: Uint8Array<ArrayBuffer>
  readonly #extractable: boolean
  readonly #algorithm: HmacKeyAlgorithm
  readonly #usages: readonly string[]

  static {
    keyBytes = (key) => #bytes in key ? key.#bytes : undefined
  }

  constructor(
    key?: unknown,
    bytes?: Uint8Array<ArrayBuffer>,
    extractable?: boolean,
    algorithm?: HmacKeyAlgorithm,
    usages?: readonly string[],
  ) {
    if (key !== KEY) throw new TypeError('Illegal constructor: CryptoKey')
    this.#bytes = bytes!
    this.#extractable = extractable!
    this.#algorithm = algorithm!
    this.#usages = usages!
  }

  get type(): string {
    return 'secret'
  }

  get extractable(): boolean {
    return this.#extractable
  }

  get algorithm(): HmacKeyAlgorithm {
    return this.#algorithm
  }

  get usages(): readonly string[] {
    return this.#usages
  }
}

expose(CryptoKey, 'CryptoKey')

/** A key of these bytes, which are the key's from now on. */
export function createKey(
  bytes: Uint8Array<ArrayBuffer>,
  extractable: boolean,
  algorithm: HmacKeyAlgorithm,
  usages: readonly string[],
): CryptoKey {
  return new CryptoKey(KEY, bytes, extractable, algorithm, usages)
}
