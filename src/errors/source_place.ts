/** Where errors were thrown, for the page of development: a place in a file that it may show. */
import { extname, fromFileUrl } from '@std/path'
import { parseStackFrame } from './stack_frame.ts'

/** A place in a file of this machine. Lines and columns count from 1. */
export interface SourcePlace {
  /** URL of the file, without a query. */
  readonly file: string
  readonly line: number
  readonly column: number
}

/** Places that were found for errors of others, null for those that have none. */
const places = new WeakMap<Error, SourcePlace | null>()

/** Says where an error was thrown, or null: then what its stack says counts for nothing. For errors whose stack is a guest's text. */
export function setSourcePlace(error: Error, place: SourcePlace | null): void {
  places.set(error, place)
}

/** Lines of a stack that are looked at. */
const MAX_LINES = 64
/** Names of files that are code. */
const SOURCES: ReadonlySet<string> = new Set([
  '.ts',
  '.tsx',
  '.mts',
  '.cts',
  '.js',
  '.jsx',
  '.mjs',
  '.cjs',
])

/**
 * Where an error was thrown: the innermost frame of its stack in a source file of the project, whose real path is `project`. Files of
 * packages are not the project's own. A message may hold lines that look like frames, and name any file: they are skipped where the
 * stack begins with it, and never lead out of the project's sources.
 */
export async function findSourcePlace(error: Error, project: string): Promise<SourcePlace | undefined> {
  const known = places.get(error)
  if (known !== undefined) return known ?? undefined
  const stack = String(error.stack)
  const message = String(error.message)
  const head = stack.indexOf(message)
  const frames = head === -1 ? stack : stack.slice(head + message.length)
  for (const text of frames.split('\n', MAX_LINES)) {
    const place = toPlace(text)
    if (place !== undefined && await isOwnSource(place.file, project)) return place
  }
}

function toPlace(text: string): SourcePlace | undefined {
  const frame = parseStackFrame(text)
  if (frame === undefined) return undefined
  const url = URL.parse(frame.url)
  if (url?.protocol !== 'file:' || url.host !== '') return undefined
  url.search = ''
  url.hash = ''
  return { file: url.href, line: frame.line, column: frame.column }
}

async function isOwnSource(file: string, project: string): Promise<boolean> {
  try {
    const path = fromFileUrl(file)
    if (!SOURCES.has(extname(path))) return false
    const real = await Deno.realPath(path)
    const inside = real.startsWith(`${project}/`) ? real.slice(project.length).split('/') : []
    return inside.length > 0 && (await Deno.stat(real)).isFile && SOURCES.has(extname(real)) &&
      !inside.includes('node_modules') &&
      !inside.some((name) => name.startsWith('.'))
  } catch {
    return false
  }
}
