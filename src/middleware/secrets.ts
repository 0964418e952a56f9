/** Keyed signatures and comparison in constant time. */
import { timingSafeEqual } from '@std/crypto/timing_safe_equal'
import { decodeBase64Url, encodeBase64Url } from '@std/encoding/base64url'
import type { OptionRule } from '../options/rule.ts'

const encoder = new TextEncoder()

/** One secret, or several with the newest first: the first signs, all of them verify. */
export type Secret = string | readonly string[]

/** HMAC-SHA-256 keys, imported when they are first needed. */
export interface SigningKeys {
  readonly secrets: readonly string[]
  keys: Promise<CryptoKey[]> | null
}

/** The rule for an option that holds signing secrets. */
export const SECRET_RULE: OptionRule = {
  wanted: 'a secret of at least 32 characters, or an array of them with the newest first',
  secret: true,
  check: (value) => {
    const secrets = Array.isArray(value) ? value : [value]
    if (!secrets.every((secret) => typeof secret === 'string')) return TypeError
    return secrets.length > 0 && secrets.every((secret) => secret.length >= 32) ? undefined : RangeError
  },
}

/** Keys of a checked secret. */
export function toSigningKeys(secret: Secret): SigningKeys {
  return { secrets: typeof secret === 'string' ? [secret] : [...secret], keys: null }
}

/** The signature of `text` by the newest key, base64url. `purpose` keeps signatures of one use from serving another. */
export async function sign(signing: SigningKeys, purpose: string, text: string): Promise<string> {
  const [newest] = await keysOf(signing)
  return encodeBase64Url(await mac(newest!, purpose, text))
}

/** The index of the key that made `signature`, or -1. Takes the same time wherever the signature differs. */
export async function verify(
  signing: SigningKeys,
  purpose: string,
  text: string,
  signature: string,
): Promise<number> {
  const given = decode(signature)
  if (given === undefined || given.length !== 32) return -1
  const keys = await keysOf(signing)
  for (let index = 0; index < keys.length; index++) {
    if (timingSafeEqual(new Uint8Array(await mac(keys[index]!, purpose, text)), given)) return index
  }
  return -1
}

/** SHA-256 of each text, one after the other: equal length whatever the texts are. */
export async function digest(...texts: readonly string[]): Promise<Uint8Array> {
  const parts = await Promise.all(texts.map((text) => crypto.subtle.digest('SHA-256', encoder.encode(text))))
  const joined = new Uint8Array(32 * parts.length)
  parts.forEach((part, index) => joined.set(new Uint8Array(part), 32 * index))
  return joined
}

/** The place of `wanted` in `digests`, or -1; every digest is compared. */
export function findDigest(digests: readonly Uint8Array[], wanted: Uint8Array): number {
  let found = -1
  for (let index = 0; index < digests.length; index++) {
    const equal = timingSafeEqual(digests[index]!, wanted)
    found = equal ? index : found
  }
  return found
}

/** Random bytes, base64url. */
export function randomText(bytes: number): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(bytes)))
}

/** base64url to bytes; undefined when it is none or is not in its one canonical form. */
export function decode(coded: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(coded)) return undefined
  try {
    const bytes = decodeBase64Url(coded)
    return encodeBase64Url(bytes) === coded ? bytes : undefined
  } catch {
    return undefined
  }
}

function keysOf(signing: SigningKeys): Promise<CryptoKey[]> {
  return signing.keys ??= Promise.all(
    signing.secrets.map((secret) =>
      crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
        'sign',
      ])
    ),
  )
}

function mac(key: CryptoKey, purpose: string, text: string): Promise<ArrayBuffer> {
  return crypto.subtle.sign('HMAC', key, encoder.encode(`${purpose}\0${text}`))
}
