/**
 * From a path of the URL to a file on disk. The path is in the router's normal form (see router/pathname.ts): decoded
 * but for `%2F` and `%25`, dot segments resolved.
 */
import { resolve, SEPARATOR } from '@std/path'
import { isMissing } from './file_errors.ts'

/** What a path leads to: a file or folder inside the root, nothing, or a name that is never served. */
export type Located =
  | { readonly path: string; readonly info: Deno.FileInfo }
  | 'missing'
  | 'refused'

/** The relative path on disk that `path` names, or undefined for a name that is never served. */
export function toFileName(path: string): string | undefined {
  if (path === '') return ''
  // An escaped slash never separates and no file holds one; a backslash or NUL is nothing that a link would say.
  if (/%2F|[\\\0]/.test(path)) return undefined
  const segments = path.replaceAll('%25', '%').split('/')
  for (const segment of segments) {
    if (segment === '' || (segment.startsWith('.') && segment !== '.well-known')) return undefined
  }
  return segments.join(SEPARATOR)
}

/**
 * Finds `name`, a result of {@linkcode toFileName}, below `dir`. Links are followed; one that leads out of the folder, or to a
 * name that starts with a dot, is refused.
 */
export async function locate(dir: string, name: string): Promise<Located> {
  try {
    const [root, path] = await Promise.all([Deno.realPath(dir), Deno.realPath(resolve(dir, name))])
    if (!isInside(root, path)) return 'refused'
    return { path, info: await Deno.stat(path) }
  } catch (error) {
    if (isMissing(error)) return 'missing'
    throw error
  }
}

function isInside(root: string, path: string): boolean {
  if (path === root) return true
  const base = root.endsWith(SEPARATOR) ? root : root + SEPARATOR
  if (!path.startsWith(base)) return false
  return path.slice(base.length).split(SEPARATOR).every((name) =>
    !name.startsWith('.') || name === '.well-known'
  )
}
