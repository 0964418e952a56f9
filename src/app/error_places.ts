import { resolve, toFileUrl } from '@std/path'
import { TemplateError } from '../dve/mod.ts'
import { setSourcePlace, setSummary } from '../errors/source_place.ts'
import { RouteLoadError } from '../router/load/load_error.ts'

/** Gives errors about a file that did not run, a view or a route, that file as their place: their stack is Mayfly's. */
export function placeErrors(error: unknown): void {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; depth++) {
    if (current instanceof TemplateError) placeTemplateError(current)
    else if (current instanceof RouteLoadError) placeLoadError(current)
    current = current.cause
  }
}

/** A view that is not there has no text: then the place is that of the call that asked for it. */
function placeTemplateError(error: TemplateError): void {
  const { file, line, column, excerpt, reason } = error
  if (excerpt === '' && line === 1) return setSummary(error, reason)
  setSourcePlace(error, { file: toFileUrl(resolve(file)).href, line, column }, reason)
}

function placeLoadError(error: RouteLoadError): void {
  const { file, line, column, message } = error
  const summary = message.replace(` (${file}:${line}:${column})`, '')
  setSourcePlace(error, line > 0 ? { file: toFileUrl(file).href, line, column } : null, summary)
}
