/** Finds templates below the views folder, and nothing outside of it. */
import { isAbsolute, join, normalize, relative, resolve } from '@std/path'
import { didYouMean } from '../text/near_name.ts'
import { type Source, TemplateError } from './error.ts'
import type { LoadedSource } from './program.ts'

const EXTENSION = '.dve'

/** A views folder. `root` is its real path, looked up on first use. */
export interface ViewFolder {
  readonly dir: string
  readonly maxTemplateSize: number
  root: string | null
}

/** Who asked for a template: an include at an offset, or the application. */
export interface Asker {
  readonly source: Source
  readonly at: number
}

/** The name below the views folder, with its extension: `a//b`, `./a/b` and `/a/b.dve` are all `a/b.dve`. */
export function normalizeName(name: string): string {
  const clean = normalize(`/${name}`).replace(/^[/\\]+/, '')
  return clean.endsWith(EXTENSION) ? clean : clean + EXTENSION
}

/** True when `path` is `root` or below it. Both are absolute. */
function isInside(root: string, path: string): boolean {
  const rest = relative(root, path)
  return rest !== '..' && !rest.startsWith('../') && !rest.startsWith('..\\') && !isAbsolute(rest)
}

/**
 * Reads a template. Throws {@linkcode TemplateError} when the name leaves the views folder (by `..` or by a link), when there
 * is no such file, when it cannot be read, and when it is longer than `maxTemplateSize` characters.
 */
export function readTemplate(folder: ViewFolder, name: string, asker: Asker | null): LoadedSource {
  const fail = (reason: string, cause?: unknown, limit?: 'maxTemplateSize'): TemplateError =>
    new TemplateError(
      `Cannot read template: ${JSON.stringify(name)} ${reason}`,
      asker?.source ?? { file: join(folder.dir, name), text: '' },
      asker?.at ?? 0,
      { cause, limit },
    )
  if (name === '' || name.includes('\0')) throw fail('is no name of a file')
  folder.root ??= findRoot(folder, fail)
  const { root } = folder
  if (!isInside(root, resolve(root, `./${name}`))) throw fail('is outside the views folder')
  const clean = normalizeName(name)
  const path = join(root, clean)
  let text: string
  let real: string
  try {
    real = Deno.realPathSync(path)
    if (!isInside(root, real)) throw fail('is outside the views folder')
    const { size, isFile } = Deno.statSync(real)
    if (!isFile) throw fail('is no file')
    // A character has at most three bytes per UTF-16 unit, so nothing much longer is read at all.
    if (size <= folder.maxTemplateSize * 3 + 3) text = Deno.readTextFileSync(real)
    else {throw fail(
        `has ${size} bytes, want at most maxTemplateSize ${folder.maxTemplateSize} characters`,
        undefined,
        'maxTemplateSize',
      )}
  } catch (error) {
    if (error instanceof TemplateError) throw error
    if (!(error instanceof Deno.errors.NotFound)) throw fail('cannot be opened', error)
    throw fail(`is not there${suggest(root, clean)}`, error)
  }
  if (text.startsWith('\ufeff')) text = text.slice(1)
  if (text.length > folder.maxTemplateSize) {
    throw fail(
      `has ${text.length} characters, want at most maxTemplateSize ${folder.maxTemplateSize}`,
      undefined,
      'maxTemplateSize',
    )
  }
  return { file: join(folder.dir, clean), text, id: path, paths: real === path ? [path] : [path, real] }
}

/** Templates that are looked at for a name that somebody may have meant. */
const MOST_NAMES = 500

function suggest(root: string, name: string): string {
  const short = (path: string) => path.slice(0, -EXTENSION.length)
  return didYouMean(short(name), listTemplates(root).map(short))
}

/** Names of templates below the views folder, not more than {@linkcode MOST_NAMES}; links are not followed. */
function listTemplates(root: string): string[] {
  const names: string[] = []
  const folders = ['']
  for (let looked = 0; folders.length > 0 && looked < MOST_NAMES;) {
    const folder = folders.shift()!
    try {
      for (const { name, isDirectory } of Deno.readDirSync(join(root, folder))) {
        if (++looked > MOST_NAMES) break
        const path = folder === '' ? name : `${folder}/${name}`
        if (isDirectory) folders.push(path)
        else if (name.endsWith(EXTENSION)) names.push(path)
      }
    } catch {
      // A folder that cannot be read suggests nothing.
    }
  }
  return names
}

function findRoot(folder: ViewFolder, fail: (reason: string, cause: unknown) => TemplateError): string {
  try {
    return Deno.realPathSync(folder.dir)
  } catch (error) {
    throw fail(`cannot be found, for viewsDir ${JSON.stringify(folder.dir)} is not there`, error)
  }
}

/** The paths that a change of `path` may be known by: as given, and by the views folder's real path. */
export function changedPaths(folder: ViewFolder, path: string): string[] {
  const absolute = resolve(path)
  const paths = [absolute]
  const base = resolve(folder.dir)
  if (folder.root !== null) {
    if (isInside(base, absolute)) paths.push(join(folder.root, relative(base, absolute)))
    if (!isAbsolute(path)) paths.push(join(folder.root, path))
  }
  try {
    paths.push(Deno.realPathSync(absolute))
  } catch {
    // The file is gone; it is known by the names above.
  }
  return paths
}
