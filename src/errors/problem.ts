import type { PublicFailure } from './failure.ts'

/** A problem document, RFC 9457. */
export function renderProblem(failure: PublicFailure): Response {
  const { status, title, detail, type, details } = failure
  const document = { ...details, type, title, status, ...(detail === undefined ? {} : { detail }) }
  return new Response(JSON.stringify(document), {
    status,
    headers: { ...failure.headers, 'content-type': 'application/problem+json' },
  })
}
