/** `kv(prefix)`: keys and values as a binding, and as a store for the framework's own middleware. */
import { checkOptions } from '../../options/check.ts'
import { integer, type OptionRules, rule, text } from '../../options/rule.ts'
import { checkExpiry, checkKey, checkList, checkStep, fromStored, toStored } from './rules.ts'
import { SqliteStore } from './sqlite.ts'
import type { Kv, KvBackend, KvRules } from './store.ts'
import { ValkeyStore } from './valkey.ts'

/** Options of {@linkcode kv}. */
export interface KvOptions {
  /** File of SQLite; those of one path share it. Default `mayfly.kv.sqlite` in the working directory. */
  readonly path?: string | undefined
  /** Valkey in place of a file, `valkey://[user:password@]host[:port][/database]` (`valkeys://` for TLS): servers of several machines share it. */
  readonly url?: string | undefined
  /** What keeps the keys instead: one that was opened by itself. */
  readonly store?: KvBackend | undefined
  /** Keys of this prefix. Default 100 000. */
  readonly maxKeys?: number | undefined
  /** Bytes of its keys and values. Default 64 MiB. */
  readonly maxBytes?: number | undefined
}

const RULES: OptionRules<KvOptions> = {
  path: text('a path'),
  url: { ...text("a URL, such as 'valkey://localhost:6379'"), secret: true },
  store: rule('a store', (value) => typeof value === 'object' && value !== null),
  maxKeys: integer(1),
  maxBytes: integer(1),
}

const DEFAULT_PATH = 'mayfly.kv.sqlite'
/** Files and servers that are open; they end with the process. */
const open = new Map<string, KvBackend>()

/**
 * Keys and values of a prefix, apart from those of all others: also of `a/` and `a/b/`. Nothing is opened before the first use. Throws
 * `TypeError` or `RangeError` for what is no prefix or option.
 */
export function kv(prefix: string, options: KvOptions = {}): Kv {
  checkKey('make kv', prefix)
  checkOptions('make kv', options, RULES)
  const { path = DEFAULT_PATH, url, store, maxKeys = 100_000, maxBytes = 64 << 20 } = options
  const given = [['store', store], ['path', options.path], ['url', url]].filter(([, value]) =>
    value !== undefined
  )
  if (given.length > 1) {
    throw new TypeError(`Cannot make kv: ${given.map(([name]) => name).join(' and ')} are given, want one`)
  }
  const rules: KvRules = { maxKeys, maxBytes }
  const server = url === undefined ? undefined : new ValkeyStore(url)
  const backend = () =>
    store ??
      (server === undefined
        ? openOnce(`file ${path}`, () => new SqliteStore(path))
        : openOnce(`url ${url}`, () => server))
  return {
    async get(key) {
      return fromStored(await backend().get(prefix, checkKey('get a key', key), Date.now()))
    },
    async set(key, value, options) {
      const now = Date.now()
      const expires = checkExpiry('set a key', options, now)
      const stored = toStored('set a key', value)
      await backend().set(prefix, checkKey('set a key', key), stored, expires, rules, now)
    },
    async delete(key) {
      return await backend().delete(prefix, checkKey('delete a key', key), Date.now())
    },
    async list(options) {
      const { prefix: start, cursor, limit } = checkList(options)
      const keys = await backend().list(prefix, start, cursor, limit + 1, Date.now())
      const more = keys.length > limit
      if (more) keys.pop()
      return { keys, cursor: more ? keys.at(-1)! : null }
    },
    async compareAndSet(key, expected, value, options) {
      const attempt = 'compare and set'
      const now = Date.now()
      const [old, next] = [expected, value].map((side) =>
        side === undefined ? undefined : toStored(attempt, side)
      )
      const expires = checkExpiry(attempt, options, now)
      return await backend().compareAndSet(prefix, checkKey(attempt, key), old, next, expires, rules, now)
    },
    async increment(key, by = 1, options) {
      const now = Date.now()
      const expires = checkExpiry('increment', options, now)
      return await backend().increment(prefix, checkKey('increment', key), checkStep(by), expires, rules, now)
    },
  }
}

function openOnce(name: string, make: () => KvBackend): KvBackend {
  const known = open.get(name)
  if (known !== undefined) return known
  const made = make()
  open.set(name, made)
  return made
}
