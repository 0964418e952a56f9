/** Token buckets in a store, which several processes share. */
import { encodeBase64Url } from '@std/encoding/base64url'
import { type OptionRule, rule } from '../options/rule.ts'
import type { Kv } from '../reach/kv/store.ts'
import { type Bucket, type BucketRate, takeFrom, type Taken } from './token_buckets.ts'

/** What keeps the buckets: `kv(prefix)`, or what has these two of it. */
export type RateLimitStore = Pick<Kv, 'get' | 'compareAndSet'>

/** What a store must be. */
export const BUCKET_STORE_RULE: OptionRule = rule(
  "a store with get and compareAndSet, as kv('limits/') is",
  (value) =>
    typeof value === 'object' && value !== null &&
    ['get', 'compareAndSet'].every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
)

/** Attempts of one request; each that fails means that another request of the same key was counted. */
const ATTEMPTS = 32

/** Takes a token of `key` at `now`, milliseconds since the epoch. Where others of the key are always faster, it is refused. */
export async function takeStored(
  store: RateLimitStore,
  rate: BucketRate,
  key: string,
  now: number,
): Promise<Taken> {
  const name = await toKey(key)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const known = await store.get(name)
    const former = toBucket(known)
    // Clocks of several machines differ: a bucket of the future is one of now.
    const at = Math.max(now, former?.at ?? now)
    const [{ tokens }, taken] = takeFrom(rate, former, at)
    if (!taken.allowed) return taken
    const ttlMs = Math.max(1, Math.ceil(taken.resetMs))
    if (await store.compareAndSet(name, known, [tokens, at], { ttlMs })) return taken
  }
  return { allowed: false, remaining: 0, resetMs: rate.windowMs, retryMs: 1000 }
}

function toBucket(value: unknown): Bucket | undefined {
  if (!Array.isArray(value)) return undefined
  const [tokens, at] = value
  return typeof tokens === 'number' && typeof at === 'number' ? { tokens, at } : undefined
}

/** A client may choose its key, and how long it is. */
async function toKey(key: string): Promise<string> {
  if (key !== '' && key.length <= 128 && key.isWellFormed()) return `k:${key}`
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  return `h:${encodeBase64Url(digest)}`
}
