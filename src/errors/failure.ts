import { STATUS_TEXT } from '@std/http/status'
import { HttpError } from './http_error.ts'

/** What a client may learn of an error: an `HttpError` as it is, anything else as a bare 500. */
export interface PublicFailure {
  readonly status: number
  /** The status in words. */
  readonly title: string
  /** The message of an `HttpError` when it says more than the title. */
  readonly detail: string | undefined
  readonly type: string
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
}

/** The status that an error leads to. */
export function statusOf(error: unknown): number {
  return error instanceof HttpError ? error.status : 500
}

/** Strips an error to what may leave the process; `status` overrides the error's own. */
export function toPublicFailure(error: unknown, status: number): PublicFailure {
  const title = STATUS_TEXT[status] ?? 'Error'
  if (!(error instanceof HttpError)) {
    return { status, title, detail: undefined, type: 'about:blank', headers: undefined, details: undefined }
  }
  const detail = error.message === title ? undefined : error.message
  return { status, title, detail, type: error.type, headers: error.headers, details: error.details }
}
