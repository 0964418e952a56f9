import { emitEvent, wantsEvent } from '../context/internals.ts'
import type { Awaitable, Context, Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { checkCookiePrefix } from './cookie_prefix.ts'
import { checkToken, isFormRequest, offerToken, type TokenSettings } from './csrf_token.ts'
import { optionError } from '../options/check.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { flag, oneOf, type OptionRules, text } from '../options/rule.ts'
import { token } from './token.ts'
import { ownOrigin, toOrigin } from '../context/own_origin.ts'
import { originsRule } from '../reach/streams/allowed_origins.ts'
import { type Secret, SECRET_RULE, toSigningKeys } from './secrets.ts'

/** One value, several, or a function that decides. */
export type CsrfRule = string | readonly string[] | ((value: string, ctx: Context) => Awaitable<boolean>)

/** Options of {@linkcode csrf}. */
export interface CsrfOptions {
  /** Signs the tokens: at least 32 characters; several, newest first. Needed unless `token` is `never`. */
  readonly cookieSecret?: Secret | undefined
  /** Origins beside the own one whose pages may send. Default none. */
  readonly origin?: CsrfRule | undefined
  /** Values of Sec-Fetch-Site that may pass. Default `same-origin`. */
  readonly secFetchSite?: CsrfRule | undefined
  /** Which unsafe requests need a token: those that a form can make, all, or none. Default `forms`. */
  readonly token?: 'forms' | 'always' | 'never' | undefined
  /** Form field of the token. Default `_csrf`. */
  readonly fieldName?: string | undefined
  /** Request header of the token. Default `x-csrf-token`. */
  readonly headerName?: string | undefined
  /** Default `csrf`; `__Host-csrf` is safer on HTTPS. */
  readonly cookieName?: string | undefined
  /** Only over HTTPS (and on localhost). Default true. */
  readonly secure?: boolean | undefined
}

const SITES = ['same-origin', 'same-site', 'cross-site', 'none']

const RULES: OptionRules<CsrfOptions> = {
  cookieSecret: SECRET_RULE,
  origin: originsRule({ callable: true }),
  secFetchSite: {
    wanted: `${SITES.map((site) => `"${site}"`).join(', ')}, an array of them, or a function`,
    check: (value) =>
      typeof value === 'function' || [value].flat().every((site) => SITES.includes(site as string))
        ? undefined
        : TypeError,
  },
  token: oneOf('forms', 'always', 'never'),
  fieldName: text(),
  headerName: token(),
  cookieName: token('a cookie name'),
  secure: flag(),
}

const MESSAGE = 'The request was refused: it did not come from a page of this site, or the page is too old'

/**
 * Refuses requests that another site's page makes in a visitor's name (403). GET, HEAD and OPTIONS pass. Others must come
 * from the own origin or one that the options name, by Sec-Fetch-Site or Origin, and those that a form can make must carry
 * the token of `ctx.state.csrfToken`. A rule that throws refuses and emits `csrf:rule-error`.
 */
export function csrf(options: CsrfOptions = {}): Middleware {
  checkFactoryOptions(csrf, options, RULES)
  const { origin = [], secFetchSite = 'same-origin', token = 'forms', cookieSecret } = options
  const { fieldName = '_csrf', headerName = 'x-csrf-token', cookieName = 'csrf', secure = true } = options
  if (token !== 'never' && cookieSecret === undefined) {
    throw optionError('make csrf', 'cookieSecret', undefined, `${SECRET_RULE.wanted}, or token: "never"`)
  }
  checkCookiePrefix('csrf', cookieName, { secure, path: '/' })
  const keys = cookieSecret === undefined ? undefined : toSigningKeys(cookieSecret)
  const settings: TokenSettings | undefined = keys && { keys, fieldName, headerName, cookieName, secure }
  const siteRule = toRule(secFetchSite)
  const originRule = typeof origin === 'function'
    ? origin
    : toRule([origin].flat().map((one) => toOrigin(one)!))

  return async function csrf(ctx, next) {
    const method = ctx.get.method()
    if (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS') {
      if (!await comesFromFriend(ctx)) throw new HttpError(403, MESSAGE)
      if (settings !== undefined && token !== 'never') {
        const needed = token === 'always' || isFormRequest(ctx)
        if (!await checkToken(ctx, settings, needed)) throw new HttpError(403, MESSAGE)
      }
    }
    if (settings !== undefined && token !== 'never') await offerToken(ctx, settings)
    return next()
  }

  async function comesFromFriend(ctx: Context): Promise<boolean> {
    const site = ctx.get.header('sec-fetch-site')
    const from = ctx.get.header('origin')
    if (site !== undefined && await ask('secFetchSite', siteRule, site, ctx)) return true
    if (from === undefined) return false
    // A browser that sends Sec-Fetch-Site knows better than a comparison what the own origin is.
    if (site === undefined && from === ownOrigin(ctx)) return true
    return await ask('origin', originRule, from, ctx)
  }
}

type Rule = (value: string, ctx: Context) => Awaitable<boolean>

function toRule(rule: CsrfRule): Rule {
  if (typeof rule === 'function') return rule
  const values = new Set([rule].flat())
  return (value) => values.has(value)
}

async function ask(name: string, rule: Rule, value: string, ctx: Context): Promise<boolean> {
  try {
    return await rule(value, ctx) === true
  } catch (error) {
    if (wantsEvent(ctx, 'csrf:rule-error')) {
      emitEvent(ctx, 'csrf:rule-error', { reason: 'threw', rule: name, error })
    }
    throw new HttpError(403, MESSAGE, { cause: error })
  }
}
