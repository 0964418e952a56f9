import { attachSession, emitEvent, wantsEvent } from '../context/internals.ts'
import type { Context, CookieOptions, Middleware } from '../context/types.ts'
import { checkCookiePrefix } from './cookie_prefix.ts'
import { optionError } from '../options/check.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { flag, integer, oneOf, type OptionRules, required, text } from '../options/rule.ts'
import { token } from './token.ts'
import { type Secret, SECRET_RULE, toSigningKeys } from './secrets.ts'
import { readSession, VALUE_OVERHEAD, writeSession } from './session_cookie.ts'
import { type SessionPayload, SignedSessionSlot } from './session_slot.ts'
import { endStored, findStored, keepStored, type SessionStore, STORE_RULE, STORED } from './session_store.ts'

/** Options of {@linkcode session}. */
export interface SessionOptions {
  /** Signs the cookie: at least 32 characters; several, newest first, while you change it. */
  readonly cookieSecret: Secret
  /** Default `session`. */
  readonly cookieName?: string | undefined
  /** Seconds that a session lives, kept inside the signed cookie. Default 86 400. */
  readonly maxAge?: number | undefined
  /** Start `maxAge` anew with every request. Default false: it starts when data is set. */
  readonly rolling?: boolean | undefined
  /** Only over HTTPS (and on localhost). Default true. */
  readonly secure?: boolean | undefined
  /** Out of reach for scripts. Default true. */
  readonly httpOnly?: boolean | undefined
  /** Default `Lax`. */
  readonly sameSite?: 'Strict' | 'Lax' | 'None' | undefined
  /** Default `/`. */
  readonly path?: string | undefined
  /** Default: the host alone. */
  readonly domain?: string | undefined
  /** Keeps the data, and the cookie the id alone: `kv('sessions/')`. Default: the cookie keeps it. */
  readonly store?: SessionStore | undefined
}

const RULES: OptionRules<SessionOptions> = {
  cookieSecret: required(SECRET_RULE),
  cookieName: token('a cookie name'),
  maxAge: integer(1, 100 * 365 * 86_400),
  rolling: flag(),
  secure: flag(),
  httpOnly: flag(),
  sameSite: oneOf('Strict', 'Lax', 'None'),
  path: { wanted: 'a path that begins with "/"', check: (value) => isPath(value) ? undefined : TypeError },
  domain: text('a domain name'),
  store: STORE_RULE,
}

/**
 * Keeps a visitor's data in a signed cookie: readable by its owner, changeable by nobody; or in a store, which several servers may share. Read it by `ctx.get.session()`,
 * replace it by `ctx.set.session(data)`, end it by `ctx.set.session(null)`. A cookie that was tampered with or is expired
 * gives no session, is deleted, and emits `session:invalid`.
 */
export function session(options: SessionOptions): Middleware {
  checkFactoryOptions(session, options, RULES)
  const { cookieSecret, cookieName = 'session', maxAge = 86_400, rolling = false } = options
  const { secure = true, httpOnly = true, sameSite = 'Lax', path = '/', domain, store } = options
  if (sameSite === 'None' && !secure) {
    throw optionError(
      'make session',
      'sameSite',
      sameSite,
      'secure: true beside it: browsers drop the cookie otherwise',
    )
  }
  checkCookiePrefix('session', cookieName, { secure, path, domain })
  const keys = toSigningKeys(cookieSecret)
  const attributes: CookieOptions = { secure, httpOnly, sameSite, path, domain }
  const overhead = store === undefined ? cookieName.length + 1 + VALUE_OVERHEAD : null

  return async function session(ctx, next) {
    const cookie = ctx.get.cookie(cookieName)
    const found = cookie === undefined ? undefined : await readSession(keys, cookieName, cookie, nowSeconds())
    if (found !== undefined && 'fault' in found) report(ctx, found.fault)
    const signed = found !== undefined && 'payload' in found ? found.payload : null
    const payload = store === undefined || signed === null ? signed : await findStored(store, signed)
    const slot = new SignedSessionSlot(payload, overhead)
    attachSession(ctx, slot)
    const response = await next()
    if (response.status === 101) return response
    if (store !== undefined && payload !== null && slot.id !== payload.id) {
      await endStored(store, payload.id, payload.expires - nowSeconds())
    }
    if (slot.data === null) {
      if (cookie !== undefined) ctx.set.cookie(cookieName, null, attributes)
    } else {
      const stale = found !== undefined && 'key' in found && found.key > 0
      if (slot.changed || rolling || stale) await save(ctx, slot, payload)
    }
    return response
  }

  async function save(ctx: Context, slot: SignedSessionSlot, payload: SessionPayload | null): Promise<void> {
    const now = nowSeconds()
    const renewed = slot.changed || rolling || payload === null
    const expires = renewed ? now + maxAge : payload.expires
    if (store !== undefined) await keepStored(store, slot.id!, slot.json, expires - now)
    const json = store === undefined ? slot.json : STORED
    const value = await writeSession(keys, cookieName, slot.id!, expires, json)
    ctx.set.cookie(cookieName, value, { ...attributes, maxAge: expires - now })
  }

  function report(ctx: Context, reason: string): void {
    if (wantsEvent(ctx, 'session:invalid')) emitEvent(ctx, 'session:invalid', { reason, cookieName })
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

function isPath(value: unknown): boolean {
  return typeof value === 'string' && /^\/[\x20-\x3a\x3c-\x7e]*$/.test(value)
}
