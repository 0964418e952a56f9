/** Range requests, RFC 9110 section 14. */

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** More ranges than that are answered with the whole file. */
const MAX_RANGES = 32

/**
 * The ranges of a Range header that a file of `size` bytes can satisfy, in the order asked; empty when there is none (416).
 * Undefined, and so the whole file, for another unit, bad syntax, too many ranges, or ranges that ask for more bytes than there are.
 */
export function parseRanges(header: string | null, size: number): ByteRange[] | undefined {
  const list = header === null ? null : /^bytes=(.*)$/i.exec(header)
  if (list === null) return undefined
  const specs = list[1]!.split(',').map((spec) => spec.trim()).filter((spec) => spec !== '')
  if (specs.length === 0 || specs.length > MAX_RANGES) return undefined
  const ranges: ByteRange[] = []
  let total = 0
  for (const spec of specs) {
    const match = /^(\d*)-(\d*)$/.exec(spec)
    if (match === null || spec === '-') return undefined
    const range = toRange(match[1]!, match[2]!, size)
    if (range === undefined) return undefined
    if (range === null) continue
    ranges.push(range)
    total += range.end - range.start + 1
  }
  return ranges.length > 1 && total > size ? undefined : ranges
}

/** Null when the file has no such bytes, undefined when the range is upside down. */
function toRange(first: string, last: string, size: number): ByteRange | null | undefined {
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? null : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? Infinity : Number(last)
  if (end < start) return undefined
  return start >= size ? null : { start, end: Math.min(end, size - 1) }
}
