import { HttpError } from '../errors/http_error.ts'
import type { WireFailure } from './wire.ts'

const BUILT_IN: Readonly<Record<string, ErrorConstructor>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
}

/** An error as a worker sends it. A value that is no error becomes an `Error` with its text. */
export function toWire(error: unknown): WireFailure {
  if (error instanceof Error) {
    const status = error.name === 'HttpError' ? Number((error as { status?: unknown }).status) : 0
    return [error.name, error.message, error.stack ?? '', Number.isInteger(status) ? status : 0]
  }
  return ['Error', String(error), '', 0]
}

/** The error that a task's promise rejects with: built-in classes and `HttpError` keep their class, others their name. */
export function fromWire([name, message, stack, status]: WireFailure): Error {
  if (name === 'HttpError' && status >= 400 && status <= 599) return new HttpError(status, message)
  const error = new (BUILT_IN[name] ?? Error)(message)
  if (error.name !== name) error.name = name
  if (stack !== '') error.stack = stack
  return error
}

/** 504: the task's time was over. */
export function timeoutError(timeoutMs: number): HttpError {
  return new HttpError(504, `Cannot finish the worker task: it took longer than ${timeoutMs} ms`)
}

/** 502: the worker died under the task. The reason is the cause, not for the client. */
export function crashError(reason: string): HttpError {
  return new HttpError(502, 'Cannot finish the worker task: its worker crashed', { cause: reason })
}

/** 502: the script does not load. */
export function unloadableError(reason: string): HttpError {
  return new HttpError(502, 'Cannot run the worker task: the worker script does not load', { cause: reason })
}

/** 503 with Retry-After in seconds. */
export function busyError(message: string): HttpError {
  return new HttpError(503, message, { headers: { 'Retry-After': '1' } })
}
