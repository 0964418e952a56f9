/** Source maps, revision 3 (ECMA-426), as far as finding the origin of a position needs them. */

/** A position in a source; line and column from 1. */
export interface Position {
  readonly source: string
  readonly line: number
  readonly column: number
}

/** A decoded map: for each generated line its segments, flat: generated column, source, line, column, all from 0. */
export interface SourceMap {
  readonly sources: readonly string[]
  readonly lines: readonly (readonly number[])[]
}

const FIELDS = 4
const DIGITS = new Map(
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].map((
    digit,
    value,
  ) => [digit, value]),
)

/** Decodes a map. Throws `TypeError` for text that is none. */
export function parseSourceMap(text: string): SourceMap {
  const { version, sources, mappings } = JSON.parse(text)
  if (version !== 3 || !Array.isArray(sources) || typeof mappings !== 'string') {
    throw new TypeError(`Reading a source map: version ${version}, wanted 3 with sources and mappings`)
  }
  return { sources, lines: decodeMappings(mappings) }
}

/** Decodes the `mappings` of a map. Segments without a source are left out. Throws `TypeError` for malformed text. */
export function decodeMappings(mappings: string): number[][] {
  const lines: number[][] = []
  let source = 0
  let line = 0
  let column = 0
  for (const text of mappings.split(';')) {
    const segments: number[] = []
    let generated = 0
    for (const segment of text === '' ? [] : text.split(',')) {
      const values = decodeNumbers(segment)
      generated += values[0]!
      if (values.length < FIELDS) continue
      source += values[1]!
      line += values[2]!
      column += values[3]!
      segments.push(generated, source, line, column)
    }
    lines.push(segments)
  }
  return lines
}

/** The numbers of one segment: base 64 digits of five bits, least first, the sixth bit says that more come; the last bit is the sign. */
function decodeNumbers(segment: string): number[] {
  const values: number[] = []
  let value = 0
  let shift = 0
  for (const character of segment) {
    const digit = DIGITS.get(character)
    if (digit === undefined || shift > 30) {
      throw new TypeError(`Reading a source map: malformed segment ${JSON.stringify(segment)}`)
    }
    value += (digit & 31) * 2 ** shift
    shift += 5
    if ((digit & 32) !== 0) continue
    values.push(value % 2 === 0 ? value / 2 : -(value - 1) / 2)
    value = 0
    shift = 0
  }
  if (shift !== 0 || values.length === 0) {
    throw new TypeError(`Reading a source map: malformed segment ${JSON.stringify(segment)}`)
  }
  return values
}

/** Where a generated position comes from: the last segment of its line at or before it. Null when none is there. */
export function originalPosition(map: SourceMap, line: number, column: number): Position | null {
  const segments = map.lines[line - 1]
  if (segments === undefined) return null
  let low = 0
  let high = segments.length / FIELDS
  while (low < high) {
    const middle = (low + high) >>> 1
    if (segments[middle * FIELDS]! <= column - 1) low = middle + 1
    else high = middle
  }
  if (low === 0) return null
  const [, source, originalLine, originalColumn] = segments.slice((low - 1) * FIELDS, low * FIELDS)
  const name = map.sources[source!]
  return name === undefined ? null : { source: name, line: originalLine! + 1, column: originalColumn! + 1 }
}
