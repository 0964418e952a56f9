import { HttpError } from './http_error.ts'

/** Why a request ended whose client has gone. */
export function clientLeft(): HttpError {
  return new HttpError(400, 'The client has gone')
}
