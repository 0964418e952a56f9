/** A line of a stack that names a place; the parts make the line again. Lines and columns count from 1. */
export interface StackFrame {
  /** Up to the URL: `    at name (`. */
  readonly before: string
  readonly url: string
  readonly line: number
  readonly column: number
  /** `)` or nothing. */
  readonly after: string
}

const COLON = 0x3a
/** No line of a file is further down, and no column further right. */
const DIGITS = 9

/**
 * `    at name (url:line:column)` or `    at url:line:column`, as V8 and QuickJS write it; undefined for any other line. The text may be
 * anybody's: it is read a bounded number of times, whatever it says.
 */
export function parseStackFrame(text: string): StackFrame | undefined {
  const at = text.length - text.trimStart().length
  if (at === 0 || !text.startsWith('at ', at)) return undefined
  const after = text.endsWith(')') ? ')' : ''
  const columnEnd = text.length - after.length
  const column = startOfNumber(text, columnEnd)
  const line = column === -1 ? -1 : startOfNumber(text, column - 1)
  if (line === -1) return undefined
  const open = after === '' ? text.lastIndexOf(' ', line) : text.indexOf(' (', at) + 1
  const url = text.slice(open + 1, line - 1)
  if (open < at || url === '' || url.startsWith('(') || url.includes(' ')) return undefined
  return {
    before: text.slice(0, open + 1),
    url,
    line: Number(text.slice(line, column - 1)),
    column: Number(text.slice(column, columnEnd)),
    after,
  }
}

/** Where the number begins that ends at `end` and follows a colon, or -1. */
function startOfNumber(text: string, end: number): number {
  let start = end
  while (start > 0 && end - start < DIGITS && isDigit(text.charCodeAt(start - 1))) start--
  return start < end && start > 0 && text.charCodeAt(start - 1) === COLON ? start : -1
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
