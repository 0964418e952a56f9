/** What development shows of an error, to the page, to JSON and to the log: message first, then the place in the project's own files. */
import { fromFileUrl, relative } from '@std/path'
import { readExcerpt, type SourceExcerpt } from './source_excerpt.ts'
import { findSourcePlace, ownFrames, summaryOf } from './source_place.ts'

/** One error of a chain of causes. */
export interface ErrorReport {
  /** `TypeError`; of what is no error its type. */
  readonly name: string
  /** In one line where the error says where it was. */
  readonly message: string
  /** The file as people name it: below the project, or absolute. Undefined where no file is known. */
  readonly file: string | undefined
  /** Line and column from 1, and the lines around them. */
  readonly excerpt: SourceExcerpt | undefined
  /** Lines of the stack in the project's own files, innermost first. */
  readonly frames: readonly string[]
  /** The stack as it was written. */
  readonly stack: string
}

const MOST_CAUSES = 5

/**
 * An error and its causes, outermost first; `project` is the real path of the project's folder. A cause that says nothing new is folded
 * into the error that quotes it. Rejects with whatever a hostile value throws when it is looked at.
 */
export async function reportError(error: unknown, project: string): Promise<ErrorReport[]> {
  const reports: ErrorReport[] = []
  for (let current = error, depth = 0; current !== undefined && depth < MOST_CAUSES; depth++) {
    const report = await reportOne(current, project)
    const last = reports.at(-1)
    if (last !== undefined && last.message.includes(firstLine(report.message))) {
      reports[reports.length - 1] = merge(last, report)
    } else reports.push(report)
    current = current instanceof Error ? current.cause : undefined
  }
  return reports
}

async function reportOne(error: unknown, project: string): Promise<ErrorReport> {
  if (!(error instanceof Error)) {
    const message = Deno.inspect(error)
    return {
      name: `a thrown ${typeof error}`,
      message,
      file: undefined,
      excerpt: undefined,
      frames: [],
      stack: message,
    }
  }
  const name = String(error.name)
  const message = summaryOf(error) ?? String(error.message)
  const stack = String(error.stack ?? `${name}: ${message}`)
  const place = await findSourcePlace(error, project)
  const excerpt = place === undefined ? undefined : await readExcerpt(place)
  const frames = ownFrames(error, project)
  const file = place === undefined ? undefined : toShown(place.file, project)
  return { name, message, file, excerpt, frames, stack }
}

function merge(outer: ErrorReport, cause: ErrorReport): ErrorReport {
  return {
    ...outer,
    file: outer.file ?? cause.file,
    excerpt: outer.excerpt ?? cause.excerpt,
    frames: outer.frames.length > 0 ? outer.frames : cause.frames,
    stack: `${outer.stack}\n\nCaused by ${cause.stack}`,
  }
}

/** The path of a file as people name it: below the project, or absolute. */
function toShown(url: string, project: string): string {
  const path = fromFileUrl(url)
  const below = relative(project, path)
  return below.startsWith('..') ? path : below
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}
