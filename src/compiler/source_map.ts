/** Source maps, as far as finding the origin of a position needs them. */
import { TraceMap, traceSegment } from '@jridgewell/trace-mapping'

/** A position in a source; line and column from 1. */
export interface Position {
  readonly source: string
  readonly line: number
  readonly column: number
}

/** A map; what it says of a line is decoded when it is first asked for. */
export type SourceMap = TraceMap

/** Takes a map that esbuild wrote. Throws `SyntaxError` for text that is no JSON. */
export function parseSourceMap(text: string): SourceMap {
  return new TraceMap(text)
}

/** Where a generated position comes from: the last segment of its line at or before it. Null when none is there. */
export function originalPosition(map: SourceMap, line: number, column: number): Position | null {
  const segment = traceSegment(map, line - 1, column - 1)
  if (segment === null || segment.length === 1) return null
  const [, source, originalLine, originalColumn] = segment
  const name = map.sources[source]
  return name == null ? null : { source: name, line: originalLine + 1, column: originalColumn + 1 }
}

/**
 * What the source calls what begins exactly at a generated position: `name` is null where it has the generated name. Null when the
 * position is the beginning of nothing that has an origin.
 */
export function nameAt(
  map: SourceMap,
  line: number,
  column: number,
): { readonly name: string | null } | null {
  const segment = traceSegment(map, line - 1, column - 1)
  if (segment === null || segment.length === 1 || segment[0] !== column - 1) return null
  return { name: segment.length === 5 ? map.names[segment[4]] ?? null : null }
}
