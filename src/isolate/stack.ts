/** A guest's errors on the host: positions of the bundle become those of the user's sources. */
import { HttpError } from '../errors/http_error.ts'
import { SURFACE_PATH } from './core_surface.ts'
import type { ErrorData } from './message.ts'
import { originalPosition, parseSourceMap, type SourceMap } from './source_map.ts'

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

/** What was thrown in a guest and is not for the client. Its stack names the user's sources. */
export class GuestError extends Error {
  constructor({ name, message }: ErrorData, options?: ErrorOptions) {
    super(message, options)
    this.name = name
  }
}

/** An error of a guest as an error of the host: an `HttpError` stays one, with its public message. */
export function toHostError(mapper: StackMapper, data: ErrorData): Error {
  const { http, message, stack } = data
  const options = data.cause === undefined ? {} : { cause: toHostError(mapper, data.cause) }
  const error = http === undefined ? new GuestError(data, options) : new HttpError(http.status, message, {
    ...options,
    type: http.type,
    headers: http.headers,
    details: http.details,
  })
  error.stack = stack === undefined ? `${data.name}: ${message}` : mapStack(mapper, stack)
  return error
}

const FRAME = /^(\s+at .*?\(?)([^\s()]+):(\d+):(\d+)(\)?)$/
const SURFACE_URL = `file://${SURFACE_PATH}`
const GUEST_SOURCE = new URL('./guest/', import.meta.url).pathname

/**
 * A stack with the positions of the sources. Frames of the guest's own machinery and of the runtime are left out, as no user can mend
 * them; lines that are no frame stay.
 */
export function mapStack(mapper: StackMapper, stack: string): string {
  const lines: string[] = []
  for (const line of stack.split('\n')) {
    const found = FRAME.exec(line)
    const mapped = found === null ? line : mapFrame(mapper, found)
    if (mapped !== null) lines.push(mapped)
  }
  return lines.join('\n')
}

function mapFrame(mapper: StackMapper, [whole, before, url, line, column, after]: string[]): string | null {
  if (url.startsWith('ext:') || url.startsWith('node:') || url === SURFACE_URL) return null
  const file = mapper.get(url.slice(url.lastIndexOf('/') + 1))
  if (file === undefined) return whole
  file.map ??= parseSourceMap(file.json)
  const origin = originalPosition(file.map, Number(line), Number(column))
  if (origin === null) return null
  const source = toSourceUrl(origin.source)
  if (source === null) return null
  return `${before}${source}:${origin.line}:${origin.column}${after}`
}

/** The name of a source in the map, relative to the root, as a URL; null for the guest's own. */
function toSourceUrl(source: string): string | null {
  const remote = /^(?:\.\.\/)*remote:(.*)$/.exec(source)
  if (remote !== null) return remote[1]
  if (/^(?:\.\.\/)*(?:mayfly|builtin):/.test(source)) return null
  const { href, pathname } = new URL(source, 'file:///')
  return pathname.startsWith(GUEST_SOURCE) ? null : href
}
