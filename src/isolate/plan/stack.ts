/** A guest's errors on the host: positions of the bundle become those of the user's sources. */
import { HttpError } from '../../errors/http_error.ts'
import { toPrintable } from '../../errors/printable.ts'
import { setSourcePlace, type SourcePlace } from '../../errors/source_place.ts'
import { parseStackFrame, type StackFrame } from '../../errors/stack_frame.ts'
import { SURFACE_PATH } from '../core/core_surface.ts'
import type { ErrorData } from '../wire/message.ts'
import { originalPosition, parseSourceMap, type SourceMap } from '../../compiler/source_map.ts'

/** Maps the stacks of one program: the maps of its files, each by the file's name as it ends in stacks. */
export type StackMapper = ReadonlyMap<string, FileMap>

interface FileMap {
  readonly json: string
  /** Decoded for the first error. */
  map: SourceMap | null
}

/** A mapper for bundles by the names of their files, each with its source map as JSON. Decodes nothing yet. */
export function createStackMapper(maps: Readonly<Record<string, string>>): StackMapper {
  return new Map(Object.entries(maps).map(([name, json]) => [name, { json, map: null }]))
}

/** What was thrown in a guest and is not for the client. Its stack names the user's sources; all its texts are printable. */
export class GuestError extends Error {
  constructor({ name, message }: ErrorData, options?: ErrorOptions) {
    super(toPrintable(message), options)
    this.name = toPrintable(name)
  }
}

/**
 * An error of a guest as an error of the host: an `HttpError` stays one, with its public message. What is for people only, its stack
 * among it, is printable.
 */
export function toHostError(mapper: StackMapper, data: ErrorData): Error {
  const { http, message, stack } = data
  const options = data.cause === undefined ? {} : { cause: toHostError(mapper, data.cause) }
  const error = http === undefined ? new GuestError(data, options) : new HttpError(http.status, message, {
    ...options,
    type: http.type,
    headers: http.headers,
    details: http.details,
  })
  const { text, place } = stack === undefined
    ? { text: `${data.name}: ${message}`, place: null }
    : mapStack(mapper, stack)
  error.stack = toPrintable(text)
  setSourcePlace(error, place)
  return error
}

const SURFACE_URL = `file://${SURFACE_PATH}`
const GUEST_SOURCE = new URL('../guest/', import.meta.url).pathname

/** A guest's stack as it is for people. */
export interface MappedStack {
  /**
   * With the positions of the sources. Frames of the guest's own machinery and of the runtime are left out, as no user can fix them; lines
   * that are no frame stay.
   */
  readonly text: string
  /** The innermost position that lies in a source of the bundle; a guest may invent frames that name another file. */
  readonly place: SourcePlace | null
}

/** Maps a stack by the maps of its program. */
export function mapStack(mapper: StackMapper, stack: string): MappedStack {
  const lines: string[] = []
  let innermost: SourcePlace | null = null
  for (const text of stack.split('\n')) {
    const frame = parseStackFrame(text)
    const mapped = frame === undefined ? text : mapFrame(mapper, frame)
    if (mapped === null) continue
    if (typeof mapped === 'string') {
      lines.push(mapped)
      continue
    }
    const { before, after } = frame!
    lines.push(`${before}${mapped.file}:${mapped.line}:${mapped.column}${after}`)
    innermost ??= mapped
  }
  return { text: lines.join('\n'), place: innermost }
}

/** Where a frame lies in the sources; its own text where no map knows its file, null where it is nothing of the user's. */
function mapFrame(mapper: StackMapper, frame: StackFrame): SourcePlace | string | null {
  const { before, url, line, column, after } = frame
  if (url.startsWith('ext:') || url.startsWith('node:') || url === SURFACE_URL) return null
  const file = mapper.get(url.slice(url.lastIndexOf('/') + 1))
  if (file === undefined) return `${before}${url}:${line}:${column}${after}`
  file.map ??= parseSourceMap(file.json)
  const origin = originalPosition(file.map, line, column)
  if (origin === null) return null
  const source = sourceUrlOf(origin.source)
  return source === null ? null : { file: source, line: origin.line, column: origin.column }
}

/** The name of a source in the map, relative to the root, as a URL; null for the guest's own. */
export function sourceUrlOf(source: string): string | null {
  const remote = /^(?:\.\.\/)*remote:(.*)$/.exec(source)
  if (remote !== null) return remote[1]!
  if (/^(?:\.\.\/)*(?:mayfly|builtin):/.test(source)) return null
  const { href, pathname } = new URL(source, 'file:///')
  return pathname.startsWith(GUEST_SOURCE) ? null : href
}
