/**
 * Token buckets in bounded memory. A bucket holds up to `limit` tokens and fills evenly, `limit` of them in `windowMs`; a
 * request takes one. A key that is not in the map has a full bucket. When the map is full, the key that has been quiet for
 * longest makes room: it is the one whose bucket is fullest, or nearly so.
 */

/** What is known of a key. */
export interface Bucket {
  tokens: number
  /** When `tokens` was right, in milliseconds of the caller's clock. */
  at: number
}

/** What fills a bucket. */
export interface BucketRate {
  readonly limit: number
  readonly windowMs: number
}

/** Buckets by key, the longest quiet first. */
export interface TokenBuckets extends BucketRate {
  readonly maxKeys: number
  readonly byKey: Map<string, Bucket>
}

/** What a request got. */
export interface Taken {
  readonly allowed: boolean
  /** Whole tokens left. */
  readonly remaining: number
  /** Milliseconds until the bucket is full. */
  readonly resetMs: number
  /** Milliseconds until there is a token; 0 when the request was allowed. */
  readonly retryMs: number
}

/** Empty memory. */
export function createBuckets(limit: number, windowMs: number, maxKeys: number): TokenBuckets {
  return { limit, windowMs, maxKeys, byKey: new Map() }
}

/** Takes a token of `key` at `now` (milliseconds of any clock that never runs backwards). A refusal takes nothing. */
export function takeToken(buckets: TokenBuckets, key: string, now: number): Taken {
  const { maxKeys, byKey } = buckets
  const known = byKey.get(key)
  const [bucket, taken] = takeFrom(buckets, known, now)
  if (known !== undefined) byKey.delete(key)
  else if (byKey.size >= maxKeys) byKey.delete(byKey.keys().next().value!)
  byKey.set(key, bucket)
  return taken
}

/** Takes a token of a bucket, which is full where it is undefined: the bucket afterwards, and what the request got. */
export function takeFrom(
  { limit, windowMs }: BucketRate,
  known: Bucket | undefined,
  now: number,
): readonly [Bucket, Taken] {
  const perMs = limit / windowMs
  const tokens = known === undefined ? limit : Math.min(limit, known.tokens + (now - known.at) * perMs)
  // Sums of fractions fall short of whole tokens by a few units in the last place.
  const allowed = tokens >= 1 - 1e-9
  const left = allowed ? Math.max(0, tokens - 1) : tokens
  return [{ tokens: left, at: now }, {
    allowed,
    remaining: Math.floor(left + 1e-9),
    resetMs: (limit - left) / perMs,
    retryMs: allowed ? 0 : (1 - left) / perMs,
  }]
}
