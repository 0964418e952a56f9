import { renderDevPage } from './dev_page.ts'
import { toPublicFailure } from './failure.ts'
import { HttpError } from './http_error.ts'
import { prefersJson } from './negotiate.ts'
import { renderPage } from './page.ts'
import { renderProblem } from './problem.ts'

/**
 * The default answer to an error: a problem document when the client prefers JSON, else a page. In development, whose project is the
 * folder `project`, the page of an unexpected error shows its stack and source; elsewhere `project` is null, and nothing of it leaves the process.
 */
export function renderFailure(
  headers: Headers,
  error: unknown,
  status: number,
  project: string | null,
): Response | Promise<Response> {
  const failure = toPublicFailure(error, status)
  if (prefersJson(headers)) return renderProblem(failure)
  if (project !== null && !(error instanceof HttpError)) return renderDevPage(failure, error, project)
  return renderPage(failure)
}
