/**
 * CSRF tokens: a signed double submit. The cookie holds a random value that a page of another site cannot read; the token
 * is a signature of it and of the session, under a salt of its own, so that no two pages show the same token (BREACH).
 *
 *   token = SALT.SIGNATURE               in a session
 *   token = SALT.SIGNATURE.SIGNATURE     without one: for no session, and for the session that this request may begin
 */
import { stateOf } from '../context/internals.ts'
import type { Context } from '../context/types.ts'
import { presetVary } from './headers.ts'
import { decode, randomText, sign, type SigningKeys, verify } from './secrets.ts'
import { SignedSessionSlot } from './session_slot.ts'

/** What tokens are made with. */
export interface TokenSettings {
  readonly keys: SigningKeys
  readonly fieldName: string
  readonly headerName: string
  readonly cookieName: string
  readonly secure: boolean
}

const PURPOSE = 'csrf'

/** Puts a token into `ctx.state.csrfToken`; the cookie is set when a handler reads it and the browser has none. */
export async function offerToken(ctx: Context, settings: TokenSettings): Promise<void> {
  const { keys, cookieName, secure } = settings
  const known = cookieValue(ctx, settings)
  const secret = known ?? randomText(16)
  const slot = sessionOf(ctx)
  const sessions = slot === null ? [''] : slot.id === null ? ['', slot.nextId] : [slot.id]
  const salt = randomText(9)
  const signatures = await Promise.all(
    sessions.map((session) => sign(keys, PURPOSE, toMessage(salt, secret, session))),
  )
  const token = [salt, ...signatures].join('.')
  let read = false
  Object.defineProperty(ctx.state, 'csrfToken', {
    configurable: true,
    enumerable: true,
    get() {
      // A shared cache must not give the page of one visitor to another.
      if (!read) presetVary(ctx, 'Cookie')
      if (!read && known === undefined) {
        ctx.set.cookie(cookieName, secret, { httpOnly: true, sameSite: 'Lax', secure })
      }
      read = true
      return token
    },
  })
}

/** True when the request's token is right, or when there is none and none is `needed`. */
export async function checkToken(ctx: Context, settings: TokenSettings, needed: boolean): Promise<boolean> {
  const token = ctx.get.header(settings.headerName) ?? (needed ? await fieldOf(ctx, settings) : undefined)
  if (token === undefined) return !needed
  const secret = cookieValue(ctx, settings)
  if (secret === undefined) return false
  const [salt, ...signatures] = token.split('.')
  if (signatures.length < 1 || signatures.length > 2) return false
  const message = toMessage(salt!, secret, sessionOf(ctx)?.id ?? '')
  let right = false
  for (const signature of signatures) {
    const key = await verify(settings.keys, PURPOSE, message, signature)
    right = key !== -1 || right
  }
  return right
}

/** True for a request that a form of another site could make without asking: POST with one of a form's three types. */
export function isFormRequest(ctx: Context): boolean {
  const type = ctx.get.header('content-type')
  if (type === undefined) return ctx.get.method() === 'POST'
  return isForm(type) || /^\s*text\/plain\b/i.test(type)
}

async function fieldOf(ctx: Context, settings: TokenSettings): Promise<string | undefined> {
  if (!isForm(ctx.get.header('content-type') ?? '')) return undefined
  const value = (await ctx.get.formData()).get(settings.fieldName)
  return typeof value === 'string' ? value : undefined
}

function isForm(type: string): boolean {
  return /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type)
}

function cookieValue(ctx: Context, settings: TokenSettings): string | undefined {
  const value = ctx.get.cookie(settings.cookieName)
  return value !== undefined && decode(value)?.length === 16 ? value : undefined
}

function sessionOf(ctx: Context): SignedSessionSlot | null {
  const { session } = stateOf(ctx)
  return session instanceof SignedSessionSlot ? session : null
}

function toMessage(salt: string, secret: string, session: string): string {
  return `${salt}.${secret}.${session}`
}
