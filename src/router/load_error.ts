/** A route module that could not be loaded, and where. */
export class RouteLoadError extends Error {
  override readonly name = 'RouteLoadError'
  /** The file to mend: the route itself or a module that it imports, as an absolute path. */
  readonly file: string
  /** Line and column from 1; 0 if the cause does not tell. */
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

/** A position in a source file. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

const POSITION = /(file:\/\/[^\s?()]+|\/[^\s?():]+)(?:\?[^\s:()]*)?:(\d+):(\d+)/g

/** Where `error`, thrown by an import, came from: the first place outside Mayfly that message or stack names. */
export function placeOf(error: unknown, isOwn: (path: string) => boolean): Place | null {
  if (!(error instanceof Error)) return null
  for (const text of [error.message, error.stack ?? '']) {
    for (const [, where, line, column] of text.matchAll(POSITION)) {
      const file = toPath(where)
      if (file !== null && !isOwn(file)) return { file, line: Number(line), column: Number(column) }
    }
  }
  return null
}

function toPath(where: string): string | null {
  try {
    return where.startsWith('/') ? where : decodeURIComponent(new URL(where).pathname)
  } catch {
    return null
  }
}

/** The first line of what went wrong, without a position. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${String(error)}`
  const name = error.message.startsWith('SyntaxError') || error.message === '' ? '' : `${error.name}: `
  return name + (error.message.split('\n')[0] || error.name)
}
