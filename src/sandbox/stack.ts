/** Stacks of programs, for people: their own files and lines, and nothing else. */
import { originalPosition, type SourceMap } from '../compiler/source_map.ts'
import { toPrintable } from '../errors/printable.ts'
import { parseStackFrame, type StackFrame } from '../errors/stack_frame.ts'

/** Characters of a stack that are looked at. */
const MAX_STACK = 16_384
/** As `MODULE_ROOT` has it. */
const ROOT = /^file:\/\/\/app(?::\d+)?\//

/** Source maps of the modules of a program that were made of others, by their names. */
export type SourceMaps = ReadonlyMap<string, SourceMap>

/** A stack as it came out of a machine, as people may see it. */
export type ToStack = (stack: string) => string

const NO_MAPS: SourceMaps = new Map()

/** A stack without the frames of the guest's own machinery. The text may be anybody's. */
export function cleanStack(stack: string, maps: SourceMaps = NO_MAPS): string {
  const lines: string[] = []
  for (const line of stack.slice(0, MAX_STACK).split('\n')) {
    const frame = parseStackFrame(line)
    if (frame === undefined) lines.push(line)
    else if (ROOT.test(frame.url)) {
      const place = toPlace(frame, maps)
      if (place !== null) lines.push(`${frame.before}${place}${frame.after}`)
    }
  }
  return toPrintable(
    lines.filter((line) => !/^\s+at .*(?:\bext:|\(<anonymous>\)|\(native\))/.test(line)).join('\n'),
  )
}

/** The place of a frame in the program's own modules; null for what a map knows to be of none. */
function toPlace({ url, line, column }: StackFrame, maps: SourceMaps): string | null {
  const name = url.replace(ROOT, '')
  const map = maps.get(name)
  if (map === undefined) return `${name}:${line}:${column}`
  const origin = originalPosition(map, line, column)
  return origin === null ? null : `${origin.source}:${origin.line}:${origin.column}`
}
