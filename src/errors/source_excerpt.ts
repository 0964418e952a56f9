import type { SourcePlace } from './source_place.ts'

/** A few lines around a place. */
export interface SourceExcerpt extends SourcePlace {
  readonly firstLine: number
  readonly lines: readonly string[]
}

const AROUND = 4
const MAX_FILE_BYTES = 1_000_000
/** Characters of a line that are shown. */
const MAX_WIDTH = 400

/** The lines around a place, or undefined when there are none, or its file is no regular one, too large, or cannot be read. */
export async function readExcerpt(place: SourcePlace): Promise<SourceExcerpt | undefined> {
  try {
    const url = new URL(place.file)
    const { isFile, size } = await Deno.stat(url)
    if (!isFile || size > MAX_FILE_BYTES) return undefined
    const lines = (await Deno.readTextFile(url)).split('\n')
    if (place.line > lines.length) return undefined
    const first = Math.max(1, place.line - AROUND)
    const shown = lines.slice(first - 1, place.line + AROUND)
    return { ...place, firstLine: first, lines: shown.map((text) => text.slice(0, MAX_WIDTH)) }
  } catch {
    return undefined
  }
}
