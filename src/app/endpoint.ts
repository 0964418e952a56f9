import type { ErrorHandler, Handler, Middleware } from '../context/types.ts'

/** What answers one method of one pattern, with all that lies around it. */
export interface Endpoint {
  readonly handler: Handler
  /** The pattern, `/users/[id]`. */
  readonly pattern: string
  /** The route file, relative to the working directory. */
  readonly file: string
  readonly isolated: boolean
  /** The folders' middleware, outermost first. */
  readonly middleware: readonly Middleware[]
  /** The folders' error handlers, innermost first. */
  readonly errorHandlers: readonly ErrorHandler[]
}
