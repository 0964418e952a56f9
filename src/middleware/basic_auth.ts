import { decodeBase64 } from '@std/encoding/base64'
import { emitEvent, wantsEvent } from '../context/internals.ts'
import type { Awaitable, Context, Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { toRealm } from './challenge.ts'
import { optionError } from '../options/check.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { callback, isObject, type OptionRules, text } from '../options/rule.ts'
import { digest, findDigest } from './secrets.ts'

/** One login of {@linkcode basicAuth}. */
export interface BasicAuthUser {
  readonly username: string
  readonly password: string
}

/** Options of {@linkcode basicAuth}; `users`, `verify` or both. */
export interface BasicAuthOptions {
  /** Who may pass. */
  readonly users?: readonly BasicAuthUser[] | undefined
  /** Asked when no user matches, for logins that are kept elsewhere. It must compare in constant time itself. */
  readonly verify?: ((username: string, password: string, ctx: Context) => Awaitable<boolean>) | undefined
  /** What the browser's dialogue calls the place. Default `Restricted`. */
  readonly realm?: string | undefined
}

const RULES: OptionRules<BasicAuthOptions> = {
  users: {
    wanted: 'an array of { username, password }, both non-empty, the username without ":"',
    secret: true,
    check: (value) => Array.isArray(value) && value.length > 0 && value.every(isUser) ? undefined : TypeError,
  },
  verify: callback(),
  realm: text(),
}

/**
 * Lets requests pass that carry a username and password, RFC 7617; answers 401 with a challenge to others. The name is in
 * `ctx.state.username`. Emits `auth:failed`.
 */
export function basicAuth(options: BasicAuthOptions): Middleware {
  checkFactoryOptions(basicAuth, options, RULES)
  const { users = [], verify, realm = 'Restricted' } = options
  if (users.length === 0 && verify === undefined) {
    throw optionError('make basicAuth', 'users', undefined, RULES.users.wanted)
  }
  const challenge = `Basic realm=${toRealm('basicAuth', realm)}, charset="UTF-8"`
  let digests: Promise<Uint8Array[]> | undefined

  const refuse = (ctx: Context, reason: string, username?: string): never => {
    if (wantsEvent(ctx, 'auth:failed')) emitEvent(ctx, 'auth:failed', { reason, scheme: 'basic', username })
    throw new HttpError(401, undefined, { headers: { 'www-authenticate': challenge } })
  }

  return async function basicAuth(ctx, next) {
    const header = ctx.get.header('authorization')
    if (header === undefined) return refuse(ctx, 'missing')
    const login = parseBasic(header)
    if (login === undefined) return refuse(ctx, 'malformed')
    digests ??= Promise.all(users.map(({ username, password }) => digest(username, password)))
    const known = findDigest(await digests, await digest(login.username, login.password)) !== -1
    const verified = known ||
      (verify !== undefined && await verify(login.username, login.password, ctx) === true)
    if (!verified) return refuse(ctx, 'credentials', login.username)
    ctx.state.username = login.username
    return next()
  }
}

/** The credentials of an Authorization header; undefined when it is of another scheme or malformed. */
function parseBasic(header: string): BasicAuthUser | undefined {
  const coded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1]
  if (coded === undefined) return undefined
  try {
    const plain = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(decodeBase64(coded))
    const colon = plain.indexOf(':')
    // deno-lint-ignore no-control-regex
    if (colon === -1 || /[\0-\x1f\x7f]/.test(plain)) return undefined
    return { username: plain.slice(0, colon), password: plain.slice(colon + 1) }
  } catch {
    return undefined
  }
}

function isUser(value: unknown): boolean {
  if (!isObject(value)) return false
  const { username, password } = value
  return typeof username === 'string' && username !== '' && !username.includes(':') &&
    typeof password === 'string' && password !== ''
}
