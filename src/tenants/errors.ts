/** What a client is told where a tenant's program gave no response: a status and few words, nothing of the program. */
import { HttpError } from '../errors/http_error.ts'
import { IsolationUnavailableError } from '../isolate/machines/errors.ts'
import {
  CallsError,
  CrashError,
  LimitError,
  MemoryError,
  OutputError,
  QueueError,
  TimeoutError,
} from '../sandbox/errors.ts'
import type { Refused } from './allowance.ts'

/** The error of a request that was refused: 429, with the time after which another may come. */
export function limitedError({ retryMs }: Refused): HttpError {
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(retryMs / 1000))) }
  return new HttpError(429, 'This site has too many requests for now', { type: 'tenant-limited', headers })
}

/** The error that a client may see of what a program ended with. */
export function publicError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  const fail = (status: number, type: string, message: string, headers?: Record<string, string>) =>
    new HttpError(status, message, { type, headers, cause: error })
  if (error instanceof TimeoutError && error.limit.name.startsWith('stream')) {
    return fail(408, 'about:blank', 'The body came too slowly')
  }
  if (error instanceof TimeoutError) return fail(504, 'tenant-timeout', 'This site took too long to answer')
  if (error instanceof MemoryError) return fail(507, 'tenant-memory', 'This site used too much memory')
  if (error instanceof OutputError) return fail(502, 'tenant-output', 'The answer of this site is too long')
  if (error instanceof CallsError || error instanceof CrashError) {
    return fail(502, 'tenant-crash', 'This site gave no valid answer')
  }
  if (error instanceof QueueError) {
    return fail(503, 'tenant-queue-full', 'Too many requests wait', { 'retry-after': '1' })
  }
  if (error instanceof LimitError) return fail(413, 'about:blank', 'The body is too large')
  if (error instanceof IsolationUnavailableError) {
    return fail(503, 'isolation-unavailable', 'No virtual machine can run this site here', {
      'retry-after': '60',
    })
  }
  return fail(500, 'tenant-error', 'This site failed')
}
