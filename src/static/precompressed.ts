import { chooseEncoding } from '../context/accept_encoding.ts'

/** Codings and the suffixes of the files that hold them, the smaller one first. */
const SUFFIXES: readonly (readonly [coding: string, suffix: string])[] = [['br', '.br'], ['gzip', '.gz']]

/** A file beside another that holds it compressed. */
export interface Compressed {
  readonly path: string
  readonly info: Deno.FileInfo
  readonly coding: string
}

/** The compressed form of a file that the client likes best, if there is one that is not older than the file. */
export async function findCompressed(
  acceptEncoding: string | null,
  path: string,
  info: Deno.FileInfo,
): Promise<Compressed | undefined> {
  if (acceptEncoding === null) return undefined
  const present: Compressed[] = []
  for (const [coding, suffix] of SUFFIXES) {
    if (chooseEncoding(acceptEncoding, [coding]) === undefined) continue
    const found = await statPlainFile(path + suffix)
    if (found !== undefined && (found.mtime?.getTime() ?? 0) >= (info.mtime?.getTime() ?? 0)) {
      present.push({ path: path + suffix, info: found, coding })
    }
  }
  const best = chooseEncoding(acceptEncoding, present.map(({ coding }) => coding))
  return present.find(({ coding }) => coding === best)
}

/** Links are not followed: one could lead out of the folder. */
async function statPlainFile(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    const info = await Deno.lstat(path)
    return info.isFile ? info : undefined
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined
    throw error
  }
}
