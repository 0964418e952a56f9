import { emitEvent, limitBody, wantsEvent } from '../context/internals.ts'
import type { Middleware } from '../context/types.ts'
import { HttpError } from '../errors/http_error.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { integer, type OptionRules, required } from '../options/rule.ts'

/** Options of {@linkcode bodyLimit}. */
export interface BodyLimitOptions {
  /** Largest body in bytes, in place of the router's `maxBodyBytes`. */
  readonly limit: number
}

const RULES: OptionRules<BodyLimitOptions> = { limit: required(integer(0)) }

/**
 * Sets the largest request body: one that declares more is 413 at once, one that turns out longer is 413 when it is read.
 * Emits `body:rejected`.
 */
export function bodyLimit(options: BodyLimitOptions): Middleware {
  checkFactoryOptions(bodyLimit, options, RULES)
  const { limit } = options
  return function bodyLimit(ctx, next) {
    limitBody(ctx, limit)
    const declared = ctx.get.header('content-length')
    const size = declared === undefined ? 0 : Number(declared)
    if (size > limit) {
      if (wantsEvent(ctx, 'body:rejected')) {
        emitEvent(ctx, 'body:rejected', { reason: 'too large', limit, size })
      }
      throw new HttpError(413, `The request body is too large: over ${limit} bytes`)
    }
    return next()
  }
}
