/** Keys and values in a file of SQLite, which several processes of one machine may share. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { fullError, noNumberError, weigh } from './rules.ts'
import type { KvBackend, KvRules, Stored } from './store.ts'

/** Writes between two looks at what expired, and rows that each takes away at most. */
const SWEEP_EVERY = 64
const SWEEP_ROWS = 256

/** Milliseconds that a write waits for another process's. */
const BUSY_MS = 2000

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries (
    space TEXT NOT NULL, key BLOB NOT NULL, value NOT NULL, bytes INTEGER NOT NULL, expires INTEGER,
    PRIMARY KEY (space, key)
  );
  CREATE INDEX IF NOT EXISTS entries_expiry ON entries (expires) WHERE expires IS NOT NULL;
  CREATE TABLE IF NOT EXISTS spaces (space TEXT PRIMARY KEY, keys INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TRIGGER IF NOT EXISTS entries_added AFTER INSERT ON entries BEGIN
    INSERT INTO spaces VALUES (new.space, 1, new.bytes)
      ON CONFLICT (space) DO UPDATE SET keys = keys + 1, bytes = bytes + new.bytes;
  END;
  CREATE TRIGGER IF NOT EXISTS entries_changed AFTER UPDATE OF bytes ON entries WHEN new.bytes <> old.bytes BEGIN
    UPDATE spaces SET bytes = bytes + new.bytes - old.bytes WHERE space = new.space;
  END;
  CREATE TRIGGER IF NOT EXISTS entries_removed AFTER DELETE ON entries BEGIN
    UPDATE spaces SET keys = keys - 1, bytes = bytes - old.bytes WHERE space = old.space;
  END;`

const SQL = {
  get: 'SELECT value FROM entries WHERE space = ? AND key = ? AND (expires IS NULL OR expires > ?)',
  set: `INSERT INTO entries VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value, bytes = excluded.bytes, expires = excluded.expires`,
  add: 'UPDATE entries SET value = ? WHERE space = ? AND key = ?',
  remove: 'DELETE FROM entries WHERE space = ? AND key = ? AND (expires IS NULL OR expires > ?)',
  list: `SELECT key FROM entries WHERE space = ? AND key >= ? AND key < ? AND key > ?
    AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ?`,
  usage: 'SELECT keys, bytes FROM spaces WHERE space = ?',
  sweep: 'DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE expires <= ? LIMIT ?)',
  sweepSpace: 'DELETE FROM entries WHERE space = ? AND expires <= ?',
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
} as const

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

/** A store in a file, made where there is none; `:memory:` for one that ends with the process. */
export class SqliteStore implements KvBackend, Disposable {
  readonly #database: DatabaseSync
  readonly #statements: Readonly<Record<keyof typeof SQL, StatementSync>>
  #writes = 0

  /** Throws where the file is none of SQLite's, or cannot be opened. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path)
    try {
      // Written through at checkpoints: after a power failure the last writes may be missing, and the file is whole.
      this.#database.exec(
        `PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${SCHEMA}`,
      )
      const prepared = Object.entries(SQL).map(([name, sql]) => [name, this.#database.prepare(sql)])
      this.#statements = Object.fromEntries(prepared)
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  // deno-lint-ignore require-await -- an error is a rejection
  async get(space: string, key: string, now: number): Promise<Stored | undefined> {
    return this.#read(space, encoder.encode(key), now)
  }

  // deno-lint-ignore require-await -- an error is a rejection
  async set(
    space: string,
    key: string,
    value: Stored,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<void> {
    this.#change(space, now, rules, () => this.#write(space, encoder.encode(key), value, expires))
  }

  // deno-lint-ignore require-await -- an error is a rejection
  async delete(space: string, key: string, now: number): Promise<boolean> {
    return this.#statements.remove.run(space, encoder.encode(key), now).changes !== 0
  }

  // deno-lint-ignore require-await -- an error is a rejection
  async list(space: string, prefix: string, after: string, limit: number, now: number): Promise<string[]> {
    const from = encoder.encode(prefix)
    const rows = this.#statements.list.all(space, from, behind(from), encoder.encode(after), now, limit)
    return rows.map(({ key }) => decoder.decode(key as Uint8Array))
  }

  // deno-lint-ignore require-await -- an error is a rejection
  async compareAndSet(
    space: string,
    key: string,
    expected: Stored | undefined,
    value: Stored | undefined,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<boolean> {
    const name = encoder.encode(key)
    return this.#change(space, now, rules, () => {
      if (!isSame(this.#read(space, name, now), expected)) return false
      if (value === undefined) this.#statements.remove.run(space, name, now)
      else this.#write(space, name, value, expires)
      return true
    })
  }

  // deno-lint-ignore require-await -- an error is a rejection
  async increment(
    space: string,
    key: string,
    by: number,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<number> {
    const name = encoder.encode(key)
    return this.#change(space, now, rules, () => {
      const former = this.#read(space, name, now)
      const sum = (former ?? 0) as number + by
      if (typeof former === 'object' || !Number.isSafeInteger(sum)) throw noNumberError()
      if (former === undefined) this.#write(space, name, sum, expires)
      else this.#statements.add.run(sum, space, name)
      return sum
    })
  }

  /** Ends it; what is asked afterwards fails. */
  close(): void {
    this.#database.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #read(space: string, key: Uint8Array, now: number): Stored | undefined {
    const row = this.#statements.get.get(space, key, now) as { value: Stored } | undefined
    return row?.value
  }

  #write(space: string, key: Uint8Array, value: Stored, expires: number | null): void {
    this.#statements.set.run(space, key, value, weigh(key.length, value), expires)
  }

  /** All or nothing, and nothing where the space is over its rules afterwards. */
  #change<T>(space: string, now: number, rules: KvRules, work: () => T): T {
    const { begin, commit, rollback, sweep, sweepSpace } = this.#statements
    begin.run()
    try {
      const result = work()
      if (this.#isOver(space, rules)) {
        sweepSpace.run(space, now)
        if (this.#isOver(space, rules)) throw fullError(rules)
      }
      if (++this.#writes % SWEEP_EVERY === 0) sweep.run(now, SWEEP_ROWS)
      commit.run()
      return result
    } catch (error) {
      rollback.run()
      throw error
    }
  }

  #isOver(space: string, { maxKeys, maxBytes }: KvRules): boolean {
    const usage = this.#statements.usage.get(space) as { keys: number; bytes: number } | undefined
    return usage !== undefined && (usage.keys > maxKeys || usage.bytes > maxBytes)
  }
}

/** The first key behind all that begin with `prefix`; UTF-8 has no byte 255, so adding one never carries. */
function behind(prefix: Uint8Array): Uint8Array {
  if (prefix.length === 0) return Uint8Array.of(255)
  const end = prefix.slice()
  end[end.length - 1]!++
  return end
}

function isSame(a: Stored | undefined, b: Stored | undefined): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
