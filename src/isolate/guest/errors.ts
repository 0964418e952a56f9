import { HttpError } from '../../errors/http_error.ts'
import { type ErrorData, MAX_CAUSES, MAX_ERROR_TEXT } from '../wire/message.ts'
import { host } from './host.ts'

/** An error as data. Never throws, whatever was thrown. */
export function toErrorData(error: unknown, depth = 0): ErrorData {
  try {
    if (!(error instanceof Error)) return { name: 'Error', message: `threw ${cut(host.inspect(error))}` }
    const name = String(error.name)
    const told = String(error.message)
    const more = host.explain(error)
    const message = more === undefined ? told : `${told}: ${more}`
    const stack = typeof error.stack === 'string'
      ? withHead(error.stack, `${name}: ${told}`, `${name}: ${message}`)
      : null
    return {
      name: cut(name),
      message: cut(message),
      ...(stack === null ? {} : { stack: cut(stack) }),
      ...(error instanceof HttpError ? { http: toHttpData(error) } : {}),
      ...(error.cause === undefined || depth + 1 >= MAX_CAUSES
        ? {}
        : { cause: toErrorData(error.cause, depth + 1) }),
    }
  } catch {
    return { name: 'Error', message: 'threw a value that throws when it is looked at' }
  }
}

/** A stack that begins with `after` in place of `before`; any other as it is. */
function withHead(stack: string, before: string, after: string): string {
  return stack.startsWith(before) ? `${after}${stack.slice(before.length)}` : stack
}

function toHttpData({ status, type, headers, details }: HttpError): ErrorData['http'] {
  const text = details === undefined ? undefined : JSON.stringify(details)
  const fits = text !== undefined && text.length <= MAX_ERROR_TEXT
  return {
    status,
    type: cut(type),
    ...(headers === undefined ? {} : { headers }),
    ...(fits ? { details: JSON.parse(text) } : {}),
  }
}

function cut(text: string): string {
  return text.length > MAX_ERROR_TEXT ? text.slice(0, MAX_ERROR_TEXT) : text
}
