/** Widest piece of a source line that an error shows, in characters. */
const EXCERPT_WIDTH = 100

/** A template's text and the name that errors call it. */
export interface Source {
  readonly file: string
  readonly text: string
}

/** Names of the limits that a template can cross. */
export type LimitName =
  | 'maxIterations'
  | 'maxRenderIterations'
  | 'maxOutputSize'
  | 'maxTemplateSize'
  | 'maxIncludeDepth'
  | 'maxTextSize'
  | 'maxNesting'

/** Options of a {@linkcode TemplateError}. */
export interface TemplateErrorOptions extends ErrorOptions {
  /** The limit that was crossed. */
  limit?: LimitName | undefined
}

/**
 * A template that cannot be read, compiled or rendered. The message holds the reason, the place and the source line with a
 * caret below the place; the same parts are there one by one.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  /** What is wrong, without the place. */
  readonly reason: string
  /** Path of the template: views folder and name. */
  readonly file: string
  /** Line of the place, from 1. */
  readonly line: number
  /** Column of the place in UTF-16 units, from 1. */
  readonly column: number
  /** The source line, cut to 100 characters around the place. */
  readonly excerpt: string
  /** Spaces and a `^`, to print below the excerpt. */
  readonly caret: string
  /** The limit that was crossed, or undefined. */
  readonly limit: LimitName | undefined

  /** `offset` counts UTF-16 units from the start of the source's text. */
  constructor(reason: string, source: Source, offset: number, options: TemplateErrorOptions = {}) {
    const place = locate(source.text, offset)
    super(
      `${reason} at ${source.file}:${place.line}:${place.column}\n${place.excerpt}\n${place.caret}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.reason = reason
    this.file = source.file
    this.line = place.line
    this.column = place.column
    this.excerpt = place.excerpt
    this.caret = place.caret
    this.limit = options.limit
  }
}

/** Line, column and a piece of the line around `offset`. Lines end with LF, CR LF or CR. */
function locate(
  text: string,
  offset: number,
): { line: number; column: number; excerpt: string; caret: string } {
  const at = Math.min(Math.max(offset, 0), text.length)
  let line = 1
  let start = 0
  for (let i = 0; i < at; i++) {
    const code = text.charCodeAt(i)
    if (code === 10 || (code === 13 && text.charCodeAt(i + 1) !== 10)) {
      line++
      start = i + 1
    }
  }
  let end = at
  while (end < text.length && text.charCodeAt(end) !== 10 && text.charCodeAt(end) !== 13) end++
  const from = Math.max(start, Math.min(at - EXCERPT_WIDTH / 2, end - EXCERPT_WIDTH))
  const to = Math.min(end, from + EXCERPT_WIDTH)
  // A control character would move the caret away from its place.
  const excerpt = text.slice(from, to).replace(/\p{Cc}/gu, ' ')
  return { line, column: at - start + 1, excerpt, caret: ' '.repeat(at - from) + '^' }
}
