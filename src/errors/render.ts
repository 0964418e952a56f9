import { renderDevPage } from './dev_page.ts'
import { toPublicFailure } from './failure.ts'
import { HttpError } from './http_error.ts'
import { prefersJson } from './negotiate.ts'
import { renderPage } from './page.ts'
import { renderProblem } from './problem.ts'

/**
 * The default answer to an error: a problem document when the client prefers JSON, else a page. In development the page
 * of an unexpected error shows its stack and source; elsewhere nothing of it leaves the process.
 */
export function renderFailure(
  headers: Headers,
  error: unknown,
  status: number,
  development: boolean,
): Response | Promise<Response> {
  const failure = toPublicFailure(error, status)
  if (prefersJson(headers)) return renderProblem(failure)
  if (development && !(error instanceof HttpError)) return renderDevPage(failure, error)
  return renderPage(failure)
}
