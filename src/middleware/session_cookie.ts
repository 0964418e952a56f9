/** The text of a session cookie: `PAYLOAD.SIGNATURE`, both base64url; the payload is `ID.EXPIRES.JSON`. */
import { encodeBase64Url } from '@std/encoding/base64url'
import { decode, sign, type SigningKeys, verify } from './secrets.ts'
import type { SessionPayload } from './session_slot.ts'

/** Why a cookie gives no session. */
export type SessionFault = 'malformed' | 'signature' | 'expired'

/** A cookie's session and the index of the key that signed it, or why there is none. */
export type ReadSession = { payload: SessionPayload; key: number } | { fault: SessionFault }

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Bytes of a cookie's value beside the data: id, separators, expiry and signature. */
export const VALUE_OVERHEAD = Math.ceil((22 + 1 + 10 + 1) * 4 / 3) + 1 + 43

/** Signs a session. `name` is the cookie's: a value does not work under another name. */
export async function writeSession(
  keys: SigningKeys,
  name: string,
  id: string,
  expires: number,
  json: string,
): Promise<string> {
  const payload = encodeBase64Url(`${id}.${expires}.${json}`)
  return `${payload}.${await sign(keys, `session:${name}`, payload)}`
}

/** Checks a cookie's value; `now` is in seconds. The signature comes first: nothing unsigned is parsed. */
export async function readSession(
  keys: SigningKeys,
  name: string,
  value: string,
  now: number,
): Promise<ReadSession> {
  const [payload, signature, ...more] = value.split('.')
  if (signature === undefined || more.length > 0) return { fault: 'malformed' }
  const bytes = decode(payload!)
  if (bytes === undefined) return { fault: 'malformed' }
  const key = await verify(keys, `session:${name}`, payload!, signature)
  if (key === -1) return { fault: 'signature' }
  const [, id, expires, json] = /^([\w-]{22})\.(\d{1,15})\.(.*)$/s.exec(decoder.decode(bytes)) ?? []
  if (json === undefined) return { fault: 'malformed' }
  if (Number(expires) <= now) return { fault: 'expired' }
  return { payload: { id: id!, expires: Number(expires), data: JSON.parse(json) }, key }
}
