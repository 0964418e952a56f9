/** Files of warm-up requests, `users.warmup.json` beside `users.ts`: a JSON array of them. */
import { basename, dirname, join, resolve } from '@std/path'
import { type Place, ProgramError, runTransform } from '../compile/compiler.ts'
import { containIn, refusalOf } from '../resolve/containment.ts'
import { findEntryFault, MAX_WARMUP_REQUESTS, type WarmupRequest } from './warmup_request.ts'

/** Bytes of a file at most. */
export const MAX_WARMUP_FILE = 8 << 20

/** What every name ends with. */
const SUFFIX = '.warmup.json'

/** Whether `name` can be a path of such a file, relative to the route file. */
export function isWarmupPath(name: string): boolean {
  return /^\.\.?\//.test(name) && name.endsWith('.json') && !name.includes('\0')
}

/** The file that is written for a route file, by its absolute path: `/site/routes/users.warmup.json`. */
export function warmupPathOf(path: string): string {
  return join(dirname(path), basename(path).replace(/\.[^.]+$/, '') + SUFFIX)
}

/** The file, and its route. */
export interface WarmupFile {
  /** The route file, as shown to people, and its absolute path. */
  readonly file: string
  readonly path: string
  /** As the route names it. */
  readonly name: string
}

/**
 * The requests of a file, which must lie inside the project, as all that a bundle contains. Rejects with `ProgramError` that names file
 * and line.
 */
export async function readWarmupFile({ file, path, name }: WarmupFile): Promise<WarmupRequest[]> {
  const shown = join(dirname(file), name)
  const what = `read the warm-up of '${file}'`
  const text = await readText(what, shown, path, name)
  return await parseWarmup(what, shown, text)
}

/** The requests that `text` lists; `shown` names its file. Rejects with `ProgramError` that names file and line. */
export async function parseWarmup(what: string, shown: string, text: string): Promise<WarmupRequest[]> {
  const value = await parseJson(what, shown, text)
  if (!Array.isArray(value)) {
    throw new ProgramError(
      `${what}: it holds no array, want [{ "method", "path", ... }]`,
      placeOf(shown, text, 0),
    )
  }
  if (value.length > MAX_WARMUP_REQUESTS) {
    throw new ProgramError(
      `${what}: it has ${value.length} requests, want at most ${MAX_WARMUP_REQUESTS}`,
      placeOf(shown, text, 0),
    )
  }
  for (const [index, entry] of value.entries()) {
    const fault = findEntryFault(entry)
    if (fault === undefined) continue
    throw new ProgramError(`${what}: entry ${index + 1}: ${fault}`, placeOfEntry(shown, text, index))
  }
  return value
}

/** Where an entry of a parsed file begins. */
function placeOfEntry(shown: string, text: string, index: number): Place {
  return placeOf(shown, text, findElement(text, index))
}

async function readText(what: string, shown: string, path: string, name: string): Promise<string> {
  const wanted = resolve(dirname(path), name)
  try {
    const refusal = refusalOf(await containIn(dirname(path)), wanted)
    if (refusal !== null) throw new ProgramError(`${what}: '${shown}': ${refusal}`, null)
    const { size } = await Deno.stat(wanted)
    if (size > MAX_WARMUP_FILE) {
      throw new ProgramError(
        `${what}: '${shown}' has ${size} bytes, want at most ${MAX_WARMUP_FILE}`,
        null,
      )
    }
    return await Deno.readTextFile(wanted)
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
    throw new ProgramError(
      `${what}: there is no file '${shown}': let it be recorded without this option (--record-warmup), or write it`,
      null,
      { cause: error },
    )
  }
}

/** V8 does not always say where the fault is; esbuild does. */
async function parseJson(what: string, shown: string, text: string): Promise<unknown> {
  try {
    return JSON.parse(text)
  } catch (error) {
    await runTransform(what, text, { loader: 'json', sourcefile: shown })
    throw new ProgramError(`${what}: ${(error as SyntaxError).message}`, placeOf(shown, text, 0), {
      cause: error,
    })
  }
}

function placeOf(file: string, text: string, at: number): Place {
  const before = text.slice(0, at).split('\n')
  return { file, line: before.length, column: before.at(-1)!.length + 1 }
}

/** Where element `index` of the array that `text` is begins; the text is sound JSON. */
function findElement(text: string, index: number): number {
  let depth = 0
  let elements = 0
  for (const { 0: token, index: at } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]|[^\s"[\]{},]+/g)) {
    const begins = depth === 1 && token !== ',' && token !== ']' && elements === index
    if (begins) return at
    if (token === ',' && depth === 1) elements++
    else if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
  }
  return 0
}
