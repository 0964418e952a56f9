import type { PublicFailure } from './failure.ts'

/** The response of a failure. It says its length, so that the answer to HEAD can say it too. */
export function textResponse(failure: PublicFailure, text: string, contentType: string): Response {
  const body = new TextEncoder().encode(text)
  return new Response(body, {
    status: failure.status,
    headers: { ...failure.headers, 'content-type': contentType, 'content-length': String(body.length) },
  })
}
