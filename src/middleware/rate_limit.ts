import { parseAddress } from '../addresses/address.ts'
import type { Awaitable, Context, Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { presetHeader } from './headers.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { callback, flag, integer, type OptionRules, text } from '../options/rule.ts'
import { BUCKET_STORE_RULE, type RateLimitStore, takeStored } from './stored_buckets.ts'
import { createBuckets, takeToken } from './token_buckets.ts'

/** Options of {@linkcode rateLimit}. */
export interface RateLimitOptions {
  /** Requests in a burst, and requests in each window after it. Default 100. */
  readonly limit?: number | undefined
  /** Milliseconds in which `limit` requests become available again. Default 60 000. */
  readonly windowMs?: number | undefined
  /** Whom a request counts for; undefined: it does not count. Default: the client's address, IPv6 by its /64. */
  readonly key?: ((ctx: Context) => Awaitable<string | undefined>) | undefined
  /** Keys in memory at most. Default 10 000. */
  readonly maxKeys?: number | undefined
  /** Send RateLimit headers to the client. Default true. */
  readonly headers?: boolean | undefined
  /** What a refused client reads. Default `Too many requests`. */
  readonly message?: string | undefined
  /** Keeps the counts, also of other processes: `kv('limits/')`. Default: this process's memory. */
  readonly store?: RateLimitStore | undefined
}

const RULES: OptionRules<RateLimitOptions> = {
  limit: integer(1),
  windowMs: integer(1),
  key: callback(),
  maxKeys: integer(1, 10_000_000),
  headers: flag(),
  message: text(),
  store: BUCKET_STORE_RULE,
}

/**
 * Lets each client make `limit` requests at once and as many in every window (a token bucket); 429 with Retry-After to
 * what is more. Counts in this process's memory, or in a store.
 */
export function rateLimit(options: RateLimitOptions = {}): Middleware {
  checkFactoryOptions(rateLimit, options, RULES)
  const { limit = 100, windowMs = 60_000, maxKeys = 10_000, headers = true } = options
  const { key = addressKey, message = 'Too many requests', store } = options
  const buckets = createBuckets(limit, windowMs, maxKeys)
  const policy = `"default";q=${limit};w=${toSeconds(windowMs)}`
  return async function rateLimit(ctx, next) {
    const name = await key(ctx)
    if (name === undefined) return next()
    const { allowed, remaining, resetMs, retryMs } = store === undefined
      ? takeToken(buckets, name, performance.now())
      : await takeStored(store, buckets, name, Date.now())
    if (headers) {
      const reset = toSeconds(resetMs)
      presetHeader(ctx, 'ratelimit-policy', policy)
      presetHeader(ctx, 'ratelimit', `"default";r=${remaining};t=${reset}`)
      presetHeader(ctx, 'ratelimit-limit', String(limit))
      presetHeader(ctx, 'ratelimit-remaining', String(remaining))
      presetHeader(ctx, 'ratelimit-reset', String(reset))
    }
    if (allowed) return next()
    throw new HttpError(429, message, { headers: { 'retry-after': String(Math.max(1, toSeconds(retryMs))) } })
  }
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** The client's address; of IPv6 the network, for one customer has 2^64 addresses. Requests without an address share a key. */
export function addressKey(ctx: Context): string {
  const address = ctx.get.ip()
  if (address === undefined || !address.includes(':')) return address ?? 'unknown'
  return `${parseAddress(address)!.groups.slice(0, 4).map((part) => part.toString(16)).join(':')}::/64`
}
