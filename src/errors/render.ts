import { type DevAnswer, renderDevPage, renderDevProblem } from './dev_page.ts'
import { toPublicFailure } from './failure.ts'
import { HttpError } from './http_error.ts'
import { prefersJson } from './negotiate.ts'
import { renderPage } from './page.ts'
import { renderProblem } from './problem.ts'

/**
 * The default answer to an error: a problem document when the client prefers JSON, else a page. With `dev`, both show the stack and source of
 * an unexpected error; without, nothing of it leaves the process.
 */
export function renderFailure(
  headers: Headers,
  error: unknown,
  status: number,
  dev: DevAnswer | null,
): Response | Promise<Response> {
  const failure = toPublicFailure(error, status)
  const isShown = dev !== null && !(error instanceof HttpError)
  if (prefersJson(headers)) return isShown ? renderDevProblem(failure, error, dev) : renderProblem(failure)
  return isShown ? renderDevPage(failure, error, dev) : renderPage(failure)
}
