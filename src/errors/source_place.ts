/** Where errors were thrown, for the page of development: a place in a file that it may show. */
import { extname, fromFileUrl, toFileUrl } from '@std/path'
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
/** What is wrong in one line, of errors whose message also shows the place. */
const summaries = new WeakMap<Error, string>()

/**
 * Says where an error was thrown, or null: then what its stack says counts for nothing. For errors whose stack is a guest's text, and for
 * those about a file that did not run. `summary` is the message without what the place shows.
 */
export function setSourcePlace(error: Error, place: SourcePlace | null, summary?: string): void {
  places.set(error, place)
  if (summary !== undefined) setSummary(error, summary)
}

/** Says what is wrong in one line, where the message also shows a place. */
export function setSummary(error: Error, summary: string): void {
  summaries.set(error, summary)
}

/** The place that was set: null for none, undefined where nothing was set. */
export function placeSet(error: Error): SourcePlace | null | undefined {
  return places.get(error)
}

/** The message without what the place shows, where one was set. */
export function summaryOf(error: Error): string | undefined {
  return summaries.get(error)
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
/** Mayfly's own sources, which are never the file to fix. */
const OWN_SOURCES = new URL('../', import.meta.url).href

/**
 * Where an error was thrown: the innermost frame of its stack in a source file of the project, whose real path is `project`. Files of
 * packages are not the project's own. A message may hold lines that look like frames, and name any file: they are skipped where the
 * stack begins with it, and never lead out of the project's sources.
 */
export async function findSourcePlace(error: Error, project: string): Promise<SourcePlace | undefined> {
  const known = places.get(error)
  if (known !== undefined) return known ?? undefined
  for (const text of stackLines(error)) {
    const place = toPlace(text)
    if (place !== undefined && await isOwnSource(place.file, project)) return place
  }
  return undefined
}

/**
 * The lines of an error's stack in files of the project that are neither Mayfly's nor a package's, by their text only: paths from the
 * project's folder on, without the versions of hot reload.
 */
export function ownFrames(error: Error, project: string): string[] {
  const root = toFileUrl(`${project}/`).href
  const toShown = (line: string) => line.trim().replace(root, '').replace(/\?mayfly=\d{1,16}/, '')
  return stackLines(error).filter((line) => isOwnFrame(line, root)).map(toShown)
}

/** The frames of an error's stack that are neither Mayfly's own nor Deno's. */
export function stackFrames(error: Error): string[] {
  return stackLines(error).map((line) => line.trim()).filter((line) =>
    line.startsWith('at ') && !line.includes(OWN_SOURCES) && !line.includes('(ext:')
  )
}

/** The lines behind the message, which may hold lines that look like frames. */
function stackLines(error: Error): string[] {
  const stack = String(error.stack)
  const message = String(error.message)
  const head = stack.indexOf(message)
  return (head === -1 ? stack : stack.slice(head + message.length)).split('\n', MAX_LINES)
}

function isOwnFrame(text: string, root: string): boolean {
  const file = toPlace(text)?.file
  return file !== undefined && file.startsWith(root) && !file.includes('/node_modules/', root.length - 1)
}

function toPlace(text: string): SourcePlace | undefined {
  const frame = parseStackFrame(text)
  if (frame === undefined) return undefined
  const url = URL.parse(frame.url)
  if (url?.protocol !== 'file:' || url.host !== '' || url.href.startsWith(OWN_SOURCES)) return undefined
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
