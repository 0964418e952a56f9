import { stripAnsiCode } from '@std/fmt/colors'

/** A position in a source file; line and column from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** A route module that could not be loaded, and where. */
export class RouteLoadError extends Error {
  override readonly name = 'RouteLoadError'
  /** The file to fix: the route itself or a module that it imports; absolute path if a place is known. */
  readonly file: string
  /** Line and column from 1; 0 if the cause does not say. */
  readonly line: number
  readonly column: number

  constructor(route: string, reason: string, options: { cause?: unknown; place?: Place | null } = {}) {
    const place = options.place ?? null
    const at = place === null ? '' : ` (${place.file}:${place.line}:${place.column})`
    super(`load route '${route}': ${reason}${at}`, { cause: options.cause })
    this.file = place?.file ?? route
    this.line = place?.line ?? 0
    this.column = place?.column ?? 0
  }
}

/** Source text that does not parse, found without running it. */
export class SourceError extends SyntaxError {
  readonly place: Place

  constructor(message: string, place: Place, cause: unknown) {
    super(message, { cause })
    this.place = place
  }
}

const POSITION = /(file:\/\/[^\s?()]+?)(?:\?[^\s:()]*)?:(\d+):(\d+)/g
/** Mayfly's own sources and packages: their frames do not show what to fix. */
const OWN = new URL('../../', import.meta.url).href
const PACKAGE = /\/node_modules\/|\/npm\//

/** Where `error`, thrown by an import, came from: the first place that message or stack names, or null. */
export function placeOf(error: unknown): Place | null {
  if (error instanceof SourceError) return error.place
  if (!(error instanceof Error)) return null
  for (const coloured of [error.message, error.stack ?? '']) {
    const text = stripAnsiCode(coloured)
    for (const [, url, line, column] of text.matchAll(POSITION)) {
      if (url!.startsWith(OWN) || PACKAGE.test(url!) || !URL.canParse(url!)) continue
      return { file: decodeURIComponent(new URL(url!).pathname), line: Number(line), column: Number(column) }
    }
  }
  return null
}

/** The first line of what went wrong, without a position. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`
  const first = error.message.split('\n')[0]!
  if (first === '') return error.name
  return /^\w*Error: /.test(first) ? first : `${error.name}: ${first}`
}

/** The place of the first word `name` in `source`, for a complaint about an export. */
export function placeOfName(source: string, file: string, name: string): Place {
  const index = Math.max(0, source.search(new RegExp(`\\b${name}\\b`)))
  const before = source.slice(0, index).split('\n')
  return { file, line: before.length, column: before.at(-1)!.length + 1 }
}
