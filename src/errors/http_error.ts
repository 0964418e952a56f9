import { STATUS_TEXT } from '@std/http/status'

/** Options of an {@linkcode HttpError}. */
export interface HttpErrorOptions extends ErrorOptions {
  /** Response headers that belong to the error, such as `Allow` or `Retry-After`. */
  headers?: Readonly<Record<string, string>> | undefined
  /** The problem's `type` (RFC 9457): a URI or a short name such as `isolation-unavailable`. */
  type?: string | undefined
  /** More members of the problem document; readable by the client. */
  details?: Readonly<Record<string, unknown>> | undefined
}

/**
 * An error with an HTTP status. Its message is meant for the client; every other error that leaves a handler is answered
 * with 500 and its message stays in the process.
 */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  /** 400 to 599. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly type: string
  readonly details: Readonly<Record<string, unknown>> | undefined

  /** Throws `RangeError` when `status` is no integer from 400 to 599. */
  constructor(status: number, message?: string, options: HttpErrorOptions = {}) {
    super(message ?? STATUS_TEXT[status] ?? 'Error', options)
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`Cannot make an HttpError: status is ${status}, want an integer from 400 to 599`)
    }
    this.status = status
    this.headers = options.headers
    this.type = options.type ?? 'about:blank'
    this.details = options.details
  }
}
