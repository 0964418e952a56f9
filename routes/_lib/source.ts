/** The site's own files as coloured HTML, read from disk and kept until they change. */
import { highlight, languageOf } from './highlight.ts'

/** A source file ready for a page. `html` is escaped. */
export interface SourceView {
  readonly path: string
  readonly lines: number
  readonly html: string
}

interface Kept {
  readonly modified: number
  readonly view: SourceView
}

/** Files already coloured, by path. Only paths named in the site's own code come in, so it stays small. */
export type SourceCache = Map<string, Kept>

/** Reads files below `root`, in order. Throws `Deno.errors.NotFound` when one is missing. */
export function readSources(root: URL, cache: SourceCache, paths: readonly string[]): Promise<SourceView[]> {
  return Promise.all(paths.map((path) => readOne(root, cache, path)))
}

async function readOne(root: URL, cache: SourceCache, path: string): Promise<SourceView> {
  const url = new URL(path.split('/').map(encodeURIComponent).join('/'), root)
  const modified = (await Deno.stat(url)).mtime?.getTime() ?? 0
  const kept = cache.get(path)
  if (kept !== undefined && kept.modified === modified) return kept.view
  const text = (await Deno.readTextFile(url)).trimEnd()
  const view = { path, lines: text.split('\n').length, html: highlight(text, languageOf(path)) }
  cache.set(path, { modified, view })
  return view
}
