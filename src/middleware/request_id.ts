import { nameRequest } from '../context/internals.ts'
import type { Context, Middleware } from '../context/types.ts'
import { presetHeader } from './headers.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { callback, flag, type OptionRules } from '../options/rule.ts'
import { token } from './token.ts'

/** Options of {@linkcode requestId}. */
export interface RequestIdOptions {
  /** The header of the response, and of the request with `trustHeader`. Default `X-Request-Id`. */
  readonly headerName?: string | undefined
  /** Keep the id that the request brings, when it is sane. Only behind a proxy that sets it. Default false. */
  readonly trustHeader?: boolean | undefined
  /** Makes an id. Default a random UUID. */
  readonly generator?: ((ctx: Context) => string) | undefined
}

// Letters that can harm neither a header nor a log line.
const SANE = /^[A-Za-z0-9._~+/=:@-]{1,200}$/

const RULES: OptionRules<RequestIdOptions> = {
  headerName: token(),
  trustHeader: flag(),
  generator: callback(),
}

/** Gives every request an id: in the response's header, in `ctx.state.requestId` and in the request's events. */
export function requestId(options: RequestIdOptions = {}): Middleware {
  checkFactoryOptions(requestId, options, RULES)
  const { headerName = 'x-request-id', trustHeader = false, generator } = options
  const header = headerName.toLowerCase()
  return function requestId(ctx, next) {
    const brought = trustHeader ? ctx.get.header(header) : undefined
    const id = brought !== undefined && SANE.test(brought) ? brought : make(ctx)
    nameRequest(ctx, id)
    ctx.state.requestId = id
    presetHeader(ctx, header, id)
    return next()
  }

  function make(ctx: Context): string {
    if (generator === undefined) return crypto.randomUUID()
    const id = generator(ctx)
    if (typeof id === 'string' && SANE.test(id)) return id
    throw new TypeError(
      `Cannot name the request: generator gave ${
        Deno.inspect(id)
      }, want 1 to 200 of letters, digits and ._~+/=:@-`,
    )
  }
}
