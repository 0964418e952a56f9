/** HMAC over the host's digests: RFC 2104, and what Web Crypto makes of it. https://w3c.github.io/webcrypto/#hmac */
import { DOMException } from './dom_exception.ts'
import { host } from './host.ts'
import { createKey, type CryptoKey, type HmacKeyAlgorithm, keyBytes } from './crypto_key.ts'
import { isBufferSource, toDictionary, viewBytes } from './webidl.ts'

/** Bytes of a block, by the digest's name. */
const BLOCKS: Readonly<Record<string, number>> = {
  'SHA-1': 64,
  'SHA-256': 64,
  'SHA-384': 128,
  'SHA-512': 128,
}
/** `alg` of a JWK: RFC 7518, section 3.1. */
const JWK_ALGORITHMS: Readonly<Record<string, string>> = {
  'SHA-1': 'HS1',
  'SHA-256': 'HS256',
  'SHA-384': 'HS384',
  'SHA-512': 'HS512',
}
const USAGES: ReadonlySet<string> = new Set(['sign', 'verify'])

/** What a caller wants of a new key. */
interface Wanted {
  readonly hash: string
  /** In bits; undefined for what the key has, or the digest's block. */
  readonly length: number | undefined
  readonly extractable: boolean
  readonly usages: readonly string[]
}

/** Checks `HmacImportParams` or `HmacKeyGenParams`, and what else a new key has. `toDigest` gives a digest's canonical name. */
export function toWanted(
  algorithm: object,
  extractable: unknown,
  usages: readonly string[],
  toDigest: (value: unknown) => string,
): Wanted {
  const { hash, length } = algorithm as { hash?: unknown; length?: unknown }
  if (hash === undefined) throw new TypeError('Cannot make an HMAC key: its algorithm has no hash')
  for (const usage of usages) {
    if (!USAGES.has(usage)) throw new DOMException(`Cannot make an HMAC key for '${usage}'`, 'SyntaxError')
  }
  return {
    hash: toDigest(hash),
    length: length === undefined ? undefined : Number(length) >>> 0,
    extractable: Boolean(extractable),
    // In the order of the standard, each once.
    usages: [...USAGES].filter((usage) => usages.includes(usage)),
  }
}

/** A key of given bytes, or of a JWK. */
export function importHmac(format: string, data: unknown, wanted: Wanted): CryptoKey {
  if (format === 'raw') {
    if (!isBufferSource(data)) throw new TypeError('Cannot import a raw key of what is no buffer')
    return finishImport(viewBytes(data).slice(), wanted)
  }
  if (format === 'jwk') return finishImport(fromJwk(data, wanted), wanted)
  throw new DOMException(`Cannot import an HMAC key as '${format}': want raw or jwk`, 'NotSupportedError')
}

function finishImport(bytes: Uint8Array<ArrayBuffer>, wanted: Wanted): CryptoKey {
  const { usages, length = bytes.length * 8 } = wanted
  if (usages.length === 0) throw new DOMException('Cannot import a key without a usage', 'SyntaxError')
  if (bytes.length === 0) throw new DOMException('Cannot import an HMAC key of no bytes', 'DataError')
  if (length > bytes.length * 8 || length <= bytes.length * 8 - 8) {
    throw new DOMException(
      `Cannot import an HMAC key of ${bytes.length} bytes with a length of ${length} bits`,
      'DataError',
    )
  }
  return toKey(bytes, length, wanted)
}

function toKey(
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
  { hash, extractable, usages }: Wanted,
): CryptoKey {
  const algorithm: HmacKeyAlgorithm = { name: 'HMAC', length, hash: { name: hash } }
  return createKey(bytes, extractable, algorithm, usages)
}

function fromJwk(data: unknown, { hash, extractable, usages }: Wanted): Uint8Array<ArrayBuffer> {
  const { kty, k, alg, use, key_ops: ops, ext } = toDictionary(data, 'a JWK')
  const refuse = (why: string) => new DOMException(`Cannot import a JWK as an HMAC key: ${why}`, 'DataError')
  if (kty !== 'oct') throw refuse(`its kty is ${String(kty)}, want oct`)
  if (typeof k !== 'string' || !/^[\w-]*$/.test(k)) throw refuse('its k is no base64url')
  if (alg !== undefined && alg !== JWK_ALGORITHMS[hash]) {
    throw refuse(`its alg is ${String(alg)}, for ${hash}`)
  }
  if (usages.length > 0 && use !== undefined && use !== 'sig') {
    throw refuse(`its use is ${String(use)}, want sig`)
  }
  if (ops !== undefined) {
    const known = Array.isArray(ops) ? ops : []
    if (!usages.every((usage) => known.includes(usage))) throw refuse('its key_ops lack a usage')
  }
  if (ext === false && extractable) throw refuse('it is not to be exported')
  const text = host.atob(k.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

/** A new key: as long as the digest's block, unless a length is wanted. */
export function generateHmac(wanted: Wanted): CryptoKey {
  const { hash, length = BLOCKS[hash] * 8, usages } = wanted
  if (length === 0) throw new DOMException('Cannot make an HMAC key of no bits', 'OperationError')
  if (usages.length === 0) throw new DOMException('Cannot make a key without a usage', 'SyntaxError')
  const bytes = new Uint8Array(Math.ceil(length / 8))
  host.entropy(bytes)
  return toKey(bytes, length, wanted)
}

/** The bytes of a key that may be exported, or its JWK. */
export function exportHmac(format: string, key: CryptoKey): ArrayBuffer | Record<string, unknown> {
  const bytes = keyBytes(key)!
  if (!key.extractable) {
    throw new DOMException('Cannot export a key that is not extractable', 'InvalidAccessError')
  }
  if (format === 'raw') return bytes.slice().buffer
  if (format !== 'jwk') {
    throw new DOMException(`Cannot export an HMAC key as '${format}': want raw or jwk`, 'NotSupportedError')
  }
  const k = host.btoa(String.fromCharCode(...bytes))
  return {
    kty: 'oct',
    alg: JWK_ALGORITHMS[key.algorithm.hash.name],
    k: k.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
    key_ops: [...key.usages],
    ext: true,
  }
}

/** The signature of data. */
export function signHmac(key: CryptoKey, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const hash = key.algorithm.hash.name
  const block = BLOCKS[hash]
  const given = keyBytes(key)!
  const bytes = given.length > block ? host.digest(hash, given) : given
  const inner = new Uint8Array(block + data.length).fill(0x36, 0, block)
  const outer = new Uint8Array(block).fill(0x5c)
  for (let i = 0; i < bytes.length; i++) {
    inner[i] ^= bytes[i]
    outer[i] ^= bytes[i]
  }
  inner.set(data, block)
  const digest = host.digest(hash, inner)
  const whole = new Uint8Array(block + digest.length)
  whole.set(outer)
  whole.set(digest, block)
  return host.digest(hash, whole)
}

/** Whether a signature is that of the data, in a time that depends on lengths alone. */
export function verifyHmac(key: CryptoKey, signature: Uint8Array, data: Uint8Array): boolean {
  const own = signHmac(key, data)
  let differences = own.length ^ signature.length
  for (let i = 0; i < own.length; i++) differences |= own[i] ^ (signature[i] ?? 0)
  return differences === 0
}
