/** What a store of keys and values can do, wherever it keeps them. */

/** How long a value stays. */
export interface KvSetOptions {
  /** Milliseconds until it is gone. Default: it stays. */
  readonly ttlMs?: number | undefined
}

/** Which keys are listed. */
export interface KvListOptions {
  /** Those that begin so. Default: all. */
  readonly prefix?: string | undefined
  /** Goes on behind a former list: its `cursor`. */
  readonly cursor?: string | undefined
  /** Keys at most, 1 to 1000. Default 100. */
  readonly limit?: number | undefined
}

/** Keys in the order of their bytes. */
export interface KvList {
  readonly keys: readonly string[]
  /** Of the next list; null: there are no more. */
  readonly cursor: string | null
}

/** Keys and values of one prefix: a binding for isolated code, and a store for sessions and rate limits. Values are structured clones. */
export interface Kv {
  /** The value of a key; undefined where there is none. */
  get(key: string): Promise<unknown>
  /** Sets it. Rejects with `KvError` where the prefix is full. */
  set(key: string, value: unknown, options?: KvSetOptions): Promise<void>
  /** Deletes it; says whether it was there. */
  delete(key: string): Promise<boolean>
  list(options?: KvListOptions): Promise<KvList>
  /** Sets `value` if the present one equals `expected`; `undefined` is a key that is not there, as either. Says whether it did. */
  compareAndSet(key: string, expected: unknown, value: unknown, options?: KvSetOptions): Promise<boolean>
  /** Adds an integer, 1 by default, to the one that is there, 0 for none; gives the sum. `ttlMs` counts for a number that begins. Rejects with `KvError` for what is no integer. */
  increment(key: string, by?: number, options?: KvSetOptions): Promise<number>
}

/** Bounds of one prefix. */
export interface KvRules {
  /** Keys that it holds. */
  readonly maxKeys: number
  /** Bytes of its keys and values. */
  readonly maxBytes: number
}

/** A value as a store keeps it: an integer, to which it can add, or bytes. */
export type Stored = number | Uint8Array<ArrayBuffer>

/** What keeps the keys of all prefixes. Times are milliseconds since the epoch; what expired by then is not there. */
export interface KvBackend {
  get(space: string, key: string, now: number): Promise<Stored | undefined>
  /** Rejects with `KvError` where the space would be over its rules. */
  set(
    space: string,
    key: string,
    value: Stored,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<void>
  delete(space: string, key: string, now: number): Promise<boolean>
  /** At most `limit` keys that begin with `prefix` and come behind `after`, in the order of their bytes. */
  list(space: string, prefix: string, after: string, limit: number, now: number): Promise<string[]>
  /** As `set`, where the value is `expected`; undefined: there is none. Setting undefined deletes. */
  compareAndSet(
    space: string,
    key: string,
    expected: Stored | undefined,
    value: Stored | undefined,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<boolean>
  /** Rejects with `KvError` for what is no integer, and for a sum that is none. */
  increment(
    space: string,
    key: string,
    by: number,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<number>
}

/** What a store refuses; its words are for the program too. */
export class KvError extends Error {
  override readonly name = 'KvError'
}
