/**
 * The hash of sources, by which a file that was built of them is known. Every start asks for it, so it is kept beside that file with what
 * the file system says of the sources: as long as that is the same, nothing is read.
 */
import { join } from '@std/path'
import { hexDigest } from '../../../context/hex_digest.ts'
import { NativeBuildError } from '../../machines/errors.ts'
import { isFile } from '../../resolve/files.ts'

/** What the hash is made of. */
export interface Sources {
  /** For people: `the virtual machines`. */
  readonly what: string
  /** Files below `native`, and folders, which end in a slash; what ends in a question mark may be missing. */
  readonly sources: readonly string[]
}

/** Milliseconds for which a change can leave a file's time as it is, on any file system. */
const RACY_MS = 5000

/** {@link hashSources}, or what `kept`, a folder, has of the same files. */
export async function hashKept(
  artifact: Sources,
  folder: string,
  kept: string,
  now = Date.now(),
): Promise<string> {
  const paths = listSources(artifact, folder)
  const state = stateOf(artifact, folder, paths, now - RACY_MS)
  const file = join(kept, `${artifact.what.replaceAll(' ', '-')}.sources`)
  if (state !== null) {
    const [known, hash] = await Deno.readTextFile(file).then((text) => text.split('\n'), () => [])
    if (known === state && hash !== undefined && /^[0-9a-f]{64}$/.test(hash)) return hash
  }
  const hash = await hashPaths(artifact, folder, paths)
  if (state !== null) await keep(kept, file, `${state}\n${hash}`)
  return hash
}

/**
 * SHA-256 of all that an artifact is made of, as hex digits. Files are read at once and digested together: two hundred reads and digests
 * in the background took forty milliseconds.
 */
export async function hashSources(artifact: Sources, folder: string): Promise<string> {
  return await hashPaths(artifact, folder, listSources(artifact, folder))
}

async function hashPaths({ what }: Sources, folder: string, paths: readonly string[]): Promise<string> {
  const parts = paths.flatMap((path) => {
    const bytes = ask(what, join(folder, path), Deno.readFileSync)
    return [`${path} ${bytes.length}\n`, bytes]
  })
  return await hexDigest(...parts)
}

/** What changes with any change of the files; null while one of them may change without a trace. */
function stateOf(
  { what }: Sources,
  folder: string,
  paths: readonly string[],
  newest: number,
): string | null {
  const states: unknown[] = [folder]
  for (const path of paths) {
    const { size, ino, dev, ctime, mtime } = ask(what, join(folder, path), Deno.statSync)
    // Programs can set the one, not the other.
    if (ctime === null || mtime === null || ctime.getTime() > newest) return null
    states.push(path, size, ino, dev, ctime.getTime(), mtime.getTime())
  }
  return JSON.stringify(states)
}

/** A folder that cannot be written has none. */
async function keep(folder: string, file: string, text: string): Promise<void> {
  const draft = join(folder, `${crypto.randomUUID()}.draft`)
  try {
    await Deno.writeTextFile(draft, text)
    await Deno.rename(draft, file)
  } catch {
    await Deno.remove(draft).catch(() => {})
  }
}

function listSources({ what, sources }: Sources, folder: string): string[] {
  const paths: string[] = []
  for (const source of sources) {
    if (source.endsWith('/')) paths.push(...listFiles(what, folder, source.slice(0, -1)))
    else if (!source.endsWith('?')) paths.push(source)
    else if (isFile(join(folder, source.slice(0, -1)))) paths.push(source.slice(0, -1))
  }
  return paths.sort()
}

function listFiles(what: string, root: string, folder: string): string[] {
  const found: string[] = []
  for (const entry of ask(what, join(root, folder), (path) => [...Deno.readDirSync(path)])) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory) found.push(...listFiles(what, root, path))
    else if (entry.isFile) found.push(path)
  }
  return found
}

function ask<T>(what: string, path: string, question: (path: string) => T): T {
  try {
    return question(path)
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause
    throw new NativeBuildError(`Cannot build ${what}: ${path} is not there, want the sources of Mayfly`, '', {
      cause,
    })
  }
}
