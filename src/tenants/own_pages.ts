/** A tenant's own answers to failures: a module that is asked, or a page as it is. */
import type { HttpError } from '../errors/http_error.ts'
import type { SandboxCode } from '../sandbox/code.ts'
import { ERROR_MODULE, ERROR_PAGE } from './program.ts'

/** The module that answers in place of a failed request; a native program has none. */
export function errorModuleOf({ modules, native }: SandboxCode): string | undefined {
  if (native !== undefined) return undefined
  return Object.keys(modules).find((name) => ERROR_MODULE.test(name))
}

/** The page for failures, with `{{status}}` and `{{title}}` filled in, also with a space beside the name; null without one. */
export function renderOwnPage(code: SandboxCode | undefined, error: HttpError): Response | null {
  const page = code?.modules[ERROR_PAGE]
  const text = typeof page === 'string' ? page : page !== undefined && 'text' in page ? page.text : undefined
  if (text === undefined) return null
  const values: Readonly<Record<string, string>> = { status: `${error.status}`, title: error.message }
  const filled = text.replaceAll(/\{\{ ?(status|title) ?\}\}/g, (_, name) => values[name]!)
  return new Response(filled, {
    status: error.status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', ...error.headers },
  })
}
