/** One frame of a stack that lies in a file of this machine. Lines and columns count from 1. */
export interface SourceFrame {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** A few lines around a frame. */
export interface SourceExcerpt extends SourceFrame {
  readonly firstLine: number
  readonly lines: readonly string[]
}

const FRAME = /\(?(file:\/\/\/[^\s()]+?)(?:\?[^\s():]*)?:(\d+):(\d+)\)?\s*$/
const AROUND = 4
const MAX_FILE_BYTES = 1_000_000

/** The frames of a stack that name files, innermost first. */
export function parseFrames(stack: string): SourceFrame[] {
  const frames: SourceFrame[] = []
  for (const text of stack.split('\n')) {
    const match = FRAME.exec(text)
    if (match !== null) frames.push({ file: match[1], line: Number(match[2]), column: Number(match[3]) })
  }
  return frames
}

/** The lines around a frame, or undefined when the file cannot be read. */
export async function readExcerpt(frame: SourceFrame): Promise<SourceExcerpt | undefined> {
  try {
    const url = new URL(frame.file)
    if ((await Deno.stat(url)).size > MAX_FILE_BYTES) return undefined
    const lines = (await Deno.readTextFile(url)).split('\n')
    const first = Math.max(1, frame.line - AROUND)
    return { ...frame, firstLine: first, lines: lines.slice(first - 1, frame.line + AROUND) }
  } catch {
    return undefined
  }
}
