/**
 * What `@mayfly/mayfly` is inside a guest: no router, no engine, no middleware. An import of those fails when the program is
 * bundled, with the file and line.
 */
export { HttpError, type HttpErrorOptions } from '../../errors/http_error.ts'
export type {
  Awaitable,
  Context,
  ContextEnv,
  ContextGet,
  ContextSend,
  ContextSet,
  ContextState,
  CookieOptions,
  ErrorHandler,
  Failure,
  FormValue,
  Handler,
  RenderOptions,
  SseMessage,
} from '../../context/types.ts'
