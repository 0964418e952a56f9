import { escape } from '@std/html'
import { type ErrorReport, reportError } from './error_report.ts'
import type { PublicFailure } from './failure.ts'
import { renderPage } from './page.ts'
import { renderProblem } from './problem.ts'
import type { SourceExcerpt } from './source_excerpt.ts'

/** How development answers. */
export interface DevAnswer {
  /** The real path of the project's folder, whose sources may be shown. */
  readonly project: string
  /** The address that shows what the project's own error handlers answer, where there are any. */
  readonly handled?: string | undefined
}

/** The error page of development: the message and the user's file first, then the stack and the causes. */
export async function renderDevPage(
  failure: PublicFailure,
  error: unknown,
  { project, handled }: DevAnswer,
): Promise<Response> {
  const reports = await tryReport(error, project)
  const shown = reports === null
    ? '<p>What was thrown throws when it is looked at.</p>'
    : reports.map(renderReport).join('')
  const link = handled === undefined
    ? ''
    : `<p>In production the project's own error handler answers: <a href="${escape(handled)}">see it</a>.</p>`
  return renderPage(failure, shown + link)
}

/** The problem document of development: `detail` says what was thrown, `error` also where. */
export async function renderDevProblem(
  failure: PublicFailure,
  error: unknown,
  { project }: DevAnswer,
): Promise<Response> {
  const reports = await tryReport(error, project)
  if (reports === null) return renderProblem(failure)
  const [first, ...causes] = reports.map(toJson)
  const detail = first === undefined ? undefined : `${first.name}: ${first.message}`
  return renderProblem({
    ...failure,
    detail,
    details: { error: { ...first, ...(causes.length === 0 ? {} : { causes }) } },
  })
}

async function tryReport(error: unknown, project: string): Promise<ErrorReport[] | null> {
  try {
    return await reportError(error, project)
  } catch {
    return null
  }
}

function toJson({ name, message, file, excerpt, frames }: ErrorReport) {
  const place = file === undefined || excerpt === undefined ? {} : {
    file,
    line: excerpt.line,
    column: excerpt.column,
    source: excerpt.lines[excerpt.line - excerpt.firstLine],
  }
  return { name, message, ...place, stack: frames }
}

function renderReport({ name, message, file, excerpt, frames, stack }: ErrorReport, index: number): string {
  const cause = index === 0 ? '' : 'Caused by '
  const [first = '', ...more] = message.split('\n')
  const rest = more.join('\n').trim()
  return [
    `<h2>${cause}<b>${escape(name)}</b>: ${escape(first)}</h2>`,
    rest === '' ? '' : `<pre>${escape(rest)}</pre>`,
    file === undefined || excerpt === undefined ? '' : renderExcerpt(file, excerpt),
    frames.length === 0 ? '' : `<pre>${frames.map((frame) => escape(frame)).join('\n')}</pre>`,
    `<details><summary>Whole stack</summary><pre>${escape(stack)}</pre></details>`,
  ].join('')
}

function renderExcerpt(file: string, excerpt: SourceExcerpt): string {
  const rows = excerpt.lines.map((text, index) => {
    const number = excerpt.firstLine + index
    const row = `${escape(`${String(number).padStart(5)} | ${text}`)}\n`
    if (number !== excerpt.line) return row
    // Tabs stay tabs, so that the caret stands below its place.
    const before = text.slice(0, excerpt.column - 1).replace(/[^\t]/g, ' ')
    return `<mark>${row}      | ${before}^\n</mark>`
  })
  const place = `${file}:${excerpt.line}:${excerpt.column}`
  return `<p><code>${escape(place)}</code></p><pre>${rows.join('')}</pre>`
}
