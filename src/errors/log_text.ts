/** An error for the log: one line that says what and where, and below it only what helps to find the cause. */
import { toPrintable } from './printable.ts'
import { ownFrames, placeSet, stackFrames, summaryOf } from './source_place.ts'
import { fromFileUrl, relative } from '@std/path'

/** What the log says of an error. */
export interface LogText {
  /** `TypeError: x is not a function (routes/a.ts:2:40)`, in one line. */
  readonly line: string
  /** The line without numbers that may tell requests apart and not faults. */
  readonly key: string
  /** More lines of the message, frames of the stack, and causes. */
  readonly below: readonly string[]
}

/** Lines of one error that follow its first. */
const MOST_LINES = 12
const MOST_CAUSES = 4

/**
 * The text for an error. `project`, where one is known, is the real path of the folder whose files are named in short and whose frames
 * alone are shown. Never throws.
 */
export function toLogText(error: unknown, project: string | null): LogText {
  try {
    const { line, key, below } = describe(error, project)
    let shown = line
    for (let depth = 0; error instanceof Error && error.cause !== undefined && depth < MOST_CAUSES; depth++) {
      error = error.cause
      const cause = describe(error, project)
      if (!shown.includes(messageOf(error))) below.push(`caused by ${cause.line}`, ...cause.below)
      shown += cause.line
    }
    return { line: toPrintable(line), key, below: below.map((text) => `    ${toPrintable(text)}`) }
  } catch {
    const line = 'what was thrown throws when it is looked at'
    return { line, key: line, below: [] }
  }
}

function describe(error: unknown, project: string | null): { line: string; key: string; below: string[] } {
  if (!(error instanceof Error)) {
    const [first = '', ...more] = Deno.inspect(error).split('\n')
    return { line: `${first} was thrown`, key: withoutNumbers(first), below: more.slice(0, MOST_LINES) }
  }
  const summary = summaryOf(error)
  const frames = project === null ? stackFrames(error) : ownFrames(error, project)
  // An error that was marked as having no place has no other place either.
  const thrown = placeSet(error) === null ? undefined : frames[0]
  const place = placeOf(error, project) ?? thrown?.replace(/^at (?:async )?(?:.*\()?(.*?)\)?$/, '$1')
  const [first = '', ...more] = (summary ?? String(error.message)).split('\n')
  const named = summary === undefined ? `${error.name}: ${first}` : first
  const suffix = place === undefined || named.includes(place) ? '' : ` (${place})`
  // A single frame repeats the line. The frames of a file that did not run are those of its importer.
  const shown = summary !== undefined || frames.length === 1 ? [] : frames
  const below = [...more.filter((text) => text.trim() !== ''), ...shown].slice(0, MOST_LINES)
  return { line: named + suffix, key: withoutNumbers(named) + suffix, below }
}

function withoutNumbers(text: string): string {
  return text.replace(/\d+/g, '#')
}

/** The place that was set for the error, as text. */
function placeOf(error: Error, project: string | null): string | undefined {
  const place = placeSet(error)
  if (place === undefined || place === null) return undefined
  const path = fromFileUrl(place.file)
  const below = project === null ? path : relative(project, path)
  return `${below.startsWith('..') ? path : below}:${place.line}:${place.column}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? String(error.message).split('\n')[0] ?? '' : Deno.inspect(error)
}
