/** Sessions whose data lies in a store; their cookie holds the id, signed. */
import { type OptionRule, rule } from '../options/rule.ts'
import type { Kv } from '../reach/kv/store.ts'
import type { SessionPayload } from './session_slot.ts'

/** What keeps the data of sessions: `kv(prefix)`, or what has these three of it. */
export type SessionStore = Pick<Kv, 'get' | 'set' | 'delete'>

/** What the cookie holds in place of the data. */
export const STORED = 'null'

/** What a store must be. */
export const STORE_RULE: OptionRule = rule(
  "a store with get, set and delete, as kv('sessions/') is",
  (value) =>
    typeof value === 'object' && value !== null &&
    ['get', 'set', 'delete'].every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
)

/** The session that a signed cookie names, with its data; null where the store has none (it ended, or another store began it). */
export async function findStored(
  store: SessionStore,
  signed: SessionPayload,
): Promise<SessionPayload | null> {
  // A cookie of before the store brings its data along: it is taken over, and saved when it is next set.
  if (signed.data !== null) return signed
  const json = await store.get(signed.id)
  return typeof json === 'string' ? { ...signed, data: JSON.parse(json) } : null
}

/** Keeps the data of a session for `seconds`. */
export async function keepStored(
  store: SessionStore,
  id: string,
  json: string,
  seconds: number,
): Promise<void> {
  await store.set(id, json, { ttlMs: seconds * 1000 })
}

/** Ends a session: no copy of its cookie works any longer. */
export async function endStored(store: SessionStore, id: string): Promise<void> {
  await store.delete(id)
}
