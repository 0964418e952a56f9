import type { PublicFailure } from './failure.ts'
import { textResponse } from './text_response.ts'

/** A problem document, RFC 9457. */
export function renderProblem(failure: PublicFailure): Response {
  const { status, title, detail, type, details } = failure
  const document = { ...details, type, title, status, ...(detail === undefined ? {} : { detail }) }
  return textResponse(failure, JSON.stringify(document), 'application/problem+json')
}
