import { emitEvent, wantsEvent } from '../context/internals.ts'
import type { Awaitable, Context, Middleware } from '../context/types.ts'
import { presetHeader, presetVary } from './headers.ts'
import { optionError } from '../options/check.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { flag, integer, type OptionRules } from '../options/rule.ts'
import { tokens } from './token.ts'
import { ownOrigin } from '../context/own_origin.ts'
import { originsRule, toOriginSet } from '../reach/streams/allowed_origins.ts'

/** Options of {@linkcode cors}. */
export interface CorsOptions {
  /** Origins whose pages may read responses: `*`, one, several, or a function that decides. Default `*`. */
  readonly origin?:
    | (string | readonly string[] | ((origin: string, ctx: Context) => Awaitable<boolean>))
    | undefined
  /** Methods that a page may use. Default all seven. */
  readonly methods?: readonly string[] | undefined
  /** Request headers that a page may set. Default Content-Type, Authorization, X-Requested-With. */
  readonly allowedHeaders?: readonly string[] | undefined
  /** Response headers that a page may read. Default none beyond the safe ones. */
  readonly exposedHeaders?: readonly string[] | undefined
  /** Allow cookies and logins. Not with `*`. Default false. */
  readonly credentials?: boolean | undefined
  /** Seconds that a browser keeps the answer to a preflight. Default 86 400. */
  readonly maxAge?: number | undefined
}

const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
const ALLOWED_HEADERS = ['Content-Type', 'Authorization', 'X-Requested-With']

const RULES: OptionRules<CorsOptions> = {
  origin: originsRule({ star: true, callable: true }),
  methods: tokens('method names'),
  allowedHeaders: tokens('header names'),
  exposedHeaders: tokens('header names'),
  credentials: flag(),
  maxAge: integer(0),
}

/**
 * Cross-origin resource sharing, as the Fetch standard has it. Answers a preflight with 204 before any route sees it, and
 * puts the headers on every other response, errors too. A request from an origin that is not allowed is served without
 * them, so that the browser keeps the response from the page. Emits `cors:blocked`.
 */
export function cors(options: CorsOptions = {}): Middleware {
  checkFactoryOptions(cors, options, RULES)
  const { origin = '*', credentials = false, maxAge = 86_400 } = options
  const { methods = METHODS, allowedHeaders = ALLOWED_HEADERS, exposedHeaders = [] } = options
  const lists = {
    origin: typeof origin === 'function' ? [] : [origin].flat(),
    methods,
    allowedHeaders,
    exposedHeaders,
  }
  for (const [name, list] of Object.entries(lists)) {
    if (credentials && list.includes('*')) {
      throw optionError('make cors', name, list, 'no "*" beside credentials: browsers refuse it')
    }
  }
  const known = typeof origin === 'function' ? undefined : toOriginSet(origin)
  const everyone = known?.has('*') === true
  const preflight: [string, string][] = [
    ['access-control-allow-methods', methods.join(', ')],
    ['access-control-allow-headers', allowedHeaders.join(', ')],
    ['access-control-max-age', String(maxAge)],
  ]
  const exposed = exposedHeaders.join(', ')

  const isAllowed = (from: string, ctx: Context): Awaitable<boolean> =>
    known === undefined
      ? (origin as (from: string, ctx: Context) => Awaitable<boolean>)(from, ctx)
      : known.has(from)

  return async function cors(ctx, next) {
    presetVary(ctx, 'Origin')
    const from = ctx.get.header('origin')
    if (from === undefined) return next()
    const asked = ctx.get.method() === 'OPTIONS' ? ctx.get.header('access-control-request-method') : undefined
    const allowed = everyone || await isAllowed(from, ctx) === true
    if (allowed) {
      presetHeader(ctx, 'access-control-allow-origin', everyone ? '*' : from)
      if (credentials) presetHeader(ctx, 'access-control-allow-credentials', 'true')
    } else if (wantsEvent(ctx, 'cors:blocked') && from !== ownOrigin(ctx)) {
      emitEvent(ctx, 'cors:blocked', { reason: 'origin', origin: from, preflight: asked !== undefined })
    }
    if (asked === undefined) {
      if (allowed && exposed !== '') presetHeader(ctx, 'access-control-expose-headers', exposed)
      return next()
    }
    presetVary(ctx, 'Access-Control-Request-Method, Access-Control-Request-Headers')
    return new Response(null, { status: 204, headers: allowed ? preflight : [] })
  }
}
