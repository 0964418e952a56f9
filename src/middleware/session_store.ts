/** Sessions whose data lies in a store; their cookie holds the id, signed. */
import { type OptionRule, rule } from '../options/rule.ts'
import type { Kv } from '../reach/kv/store.ts'
import type { SessionPayload } from './session_slot.ts'

/** What keeps the data of sessions: `kv(prefix)`, or what has these two of it. */
export type SessionStore = Pick<Kv, 'get' | 'set'>

/** What the cookie holds in place of the data. */
export const STORED = 'null'

/** What a store has in place of the data of a session that ended: a cookie of before the store would bring its own. */
const ENDED = 'ended'

/** What a store must be. */
export const STORE_RULE: OptionRule = rule(
  "a store with get and set, as kv('sessions/') is",
  (value) =>
    typeof value === 'object' && value !== null &&
    ['get', 'set'].every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
)

/** The session that a signed cookie names, with its data; null where the store has none (it ended, or another store began it). */
export async function findStored(
  store: SessionStore,
  signed: SessionPayload,
): Promise<SessionPayload | null> {
  const json = await store.get(signed.id)
  // A cookie of before the store brings its data along: it is taken over, and saved when it is next set.
  if (json === undefined && signed.data !== null) return signed
  return typeof json === 'string' && json !== ENDED ? { ...signed, data: JSON.parse(json) } : null
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

/** Ends a session that `seconds` were left to: no copy of its cookie works any longer. */
export async function endStored(store: SessionStore, id: string, seconds: number): Promise<void> {
  await store.set(id, ENDED, { ttlMs: Math.max(1, seconds) * 1000 })
}
