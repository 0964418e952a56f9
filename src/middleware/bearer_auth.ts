import { emitEvent, wantsEvent } from '../context/internals.ts'
import type { Context, Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { toRealm } from './challenge.ts'
import { optionError } from '../options/check.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { callback, type OptionRules, text } from '../options/rule.ts'
import { digest, findDigest } from './secrets.ts'

/** Options of {@linkcode bearerAuth}; `tokens`, `verify` or both. */
export interface BearerAuthOptions {
  /** Tokens that may pass. */
  readonly tokens?: readonly string[] | undefined
  /**
   * Asked when no token matches: a falsy result refuses; anything but `true` goes to `ctx.state.identity`. May return a
   * promise. It must compare in constant time itself.
   */
  readonly verify?: ((token: string, ctx: Context) => unknown) | undefined
  /** Default `Restricted`. */
  readonly realm?: string | undefined
}

const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/

const RULES: OptionRules<BearerAuthOptions> = {
  tokens: {
    wanted: 'an array of tokens of letters, digits and -._~+/ (RFC 6750)',
    secret: true,
    check: (value) =>
      Array.isArray(value) && value.length > 0 &&
        value.every((token) => typeof token === 'string' && TOKEN.test(token))
        ? undefined
        : TypeError,
  },
  verify: callback(),
  realm: text(),
}

/**
 * Lets requests pass that carry a bearer token, RFC 6750. Without one 401, with a wrong one 401 `invalid_token`, with a
 * malformed one 400 `invalid_request`. Emits `auth:failed`.
 */
export function bearerAuth(options: BearerAuthOptions): Middleware {
  checkFactoryOptions(bearerAuth, options, RULES)
  const { tokens = [], verify, realm = 'Restricted' } = options
  if (tokens.length === 0 && verify === undefined) {
    throw optionError('make bearerAuth', 'tokens', undefined, RULES.tokens.wanted)
  }
  const challenge = `Bearer realm=${toRealm('bearerAuth', realm)}`
  let digests: Promise<Uint8Array[]> | undefined

  const refuse = (ctx: Context, reason: string, status: number, code: string): never => {
    if (wantsEvent(ctx, 'auth:failed')) emitEvent(ctx, 'auth:failed', { reason, scheme: 'bearer' })
    throw new HttpError(status, undefined, { headers: { 'www-authenticate': challenge + code } })
  }

  return async function bearerAuth(ctx, next) {
    const header = ctx.get.header('authorization')
    if (header === undefined || !/^bearer\b/i.test(header)) return refuse(ctx, 'missing', 401, '')
    const token = /^Bearer +([^ ]+)$/i.exec(header)?.[1]
    if (token === undefined || !TOKEN.test(token)) {
      return refuse(ctx, 'malformed', 400, ', error="invalid_request"')
    }
    digests ??= Promise.all(tokens.map((known) => digest(known)))
    if (findDigest(await digests, await digest(token)) === -1) {
      const identity = verify === undefined ? false : await verify(token, ctx)
      if (!identity) return refuse(ctx, 'credentials', 401, ', error="invalid_token"')
      if (identity !== true) ctx.state.identity = identity
    }
    return next()
  }
}
