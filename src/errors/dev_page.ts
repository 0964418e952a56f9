import { escape } from '@std/html'
import type { PublicFailure } from './failure.ts'
import { renderPage } from './page.ts'
import { readExcerpt, type SourceExcerpt } from './source_excerpt.ts'
import { findSourcePlace } from './source_place.ts'

/** The error page of development: the message, the lines of source that threw, the stack, the causes. Sources are those of `project`. */
export async function renderDevPage(
  failure: PublicFailure,
  error: unknown,
  project: string,
): Promise<Response> {
  let extra = ''
  try {
    for (let current = error, depth = 0; current !== undefined && depth < 5; depth++) {
      extra += await describe(current, depth, project)
      current = current instanceof Error ? current.cause : undefined
    }
  } catch {
    extra += '<p>What was thrown throws when it is looked at.</p>'
  }
  return renderPage(failure, extra)
}

async function describe(error: unknown, depth: number, project: string): Promise<string> {
  const title = depth === 0 ? '' : '<h1>Caused by</h1>'
  if (!(error instanceof Error)) return `${title}<pre>${escape(Deno.inspect(error))}</pre>`
  const stack = error.stack ?? `${error.name}: ${error.message}`
  const place = await findSourcePlace(error, project)
  const excerpt = place === undefined ? undefined : await readExcerpt(place)
  return `${title}${excerpt === undefined ? '' : renderExcerpt(excerpt)}<pre>${escape(stack)}</pre>`
}

function renderExcerpt(excerpt: SourceExcerpt): string {
  const rows = excerpt.lines.map((text, index) => {
    const number = excerpt.firstLine + index
    const row = escape(`${String(number).padStart(5)} | ${text}\n`)
    return number === excerpt.line ? `<mark>${row}</mark>` : row
  })
  return `<p><code>${escape(excerpt.file)}:${excerpt.line}:${excerpt.column}</code></p><pre>${
    rows.join('')
  }</pre>`
}
