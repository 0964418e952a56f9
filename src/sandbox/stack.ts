/** Stacks of programs, for people: their own files and lines, and nothing else. */
import { toPrintable } from '../errors/printable.ts'
import { parseStackFrame } from '../errors/stack_frame.ts'

/** Characters of a stack that are looked at. */
const MAX_STACK = 16_384
/** As `MODULE_ROOT` has it. */
const ROOT = /^file:\/\/\/app(?::\d+)?\//

/** A stack without the frames of the guest's own machinery. The text may be anybody's. */
export function cleanStack(stack: string): string {
  const lines: string[] = []
  for (const line of stack.slice(0, MAX_STACK).split('\n')) {
    const frame = parseStackFrame(line)
    if (frame === undefined) lines.push(line)
    else if (ROOT.test(frame.url)) {
      const { before, url, line: at, column, after } = frame
      lines.push(`${before}${url.replace(ROOT, '')}:${at}:${column}${after}`)
    }
  }
  return toPrintable(
    lines.filter((line) => !/^\s+at .*(?:\bext:|\(<anonymous>\)|\(native\))/.test(line)).join('\n'),
  )
}
