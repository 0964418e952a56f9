import type { Crawl, CrawledFile } from './crawl.ts'
import {
  expandOptional,
  parsePattern,
  parseSegment,
  type Pattern,
  type Segment,
  shapeOf,
  toPattern,
} from '../match/pattern.ts'

/** A route file and what its place says about it. */
export interface RouteFile {
  /** As shown to people: the routes folder as named, then the path below it. */
  readonly file: string
  /** Absolute path. */
  readonly path: string
  readonly pattern: Pattern
  /** `_middleware.*` above the file, outermost folder first. */
  readonly middleware: readonly CrawledFile[]
  /** `_error.*` above the file, innermost folder first. */
  readonly errors: readonly CrawledFile[]
}

/** A folder whose `_error` answers for paths below it that no route matches. */
export interface ErrorScope {
  readonly pattern: Pattern
  /** Innermost folder first. */
  readonly errors: readonly CrawledFile[]
}

/** The routes of a crawl, sorted by file, and all that is wrong with their names. */
export interface Classified {
  readonly files: readonly RouteFile[]
  readonly errorScopes: readonly ErrorScope[]
  /** One message for each malformed or doubled name, sorted. Non-empty: the table must not be used. */
  readonly problems: readonly string[]
}

/** Thrown when names under the routes folder contradict each other; lists every problem at once. */
export class RouteNamesError extends Error {
  override readonly name = 'RouteNamesError'
  readonly problems: readonly string[]

  constructor(routesDir: string, problems: readonly string[]) {
    super(
      `read routes in '${routesDir}': ${problems.length} problem${problems.length === 1 ? '' : 's'}\n` +
        problems.map((problem) => `  ${problem}`).join('\n'),
    )
    this.problems = problems
  }
}

/** Gives each crawled file its pattern and finds names that are malformed or claim the same paths. */
export function classify(crawl: Crawl): Classified {
  const files: RouteFile[] = []
  const problems: string[] = []
  const errorScopes = findErrorScopes(crawl, problems)
  for (const folder of crawl.folders.values()) {
    for (const twins of [folder.middleware, folder.errors]) {
      if (twins.length < 2) continue
      const names = twins.map((twin) => `'${shownFile(crawl.name, twin.relative)}'`).join(' and ')
      problems.push(`${names} in one folder, wanted one of them: remove the others`)
    }
  }
  for (const { relative, path } of crawl.files) {
    try {
      const pattern = patternOf(relative)
      const file = shownFile(crawl.name, relative)
      files.push({ file, path, pattern, ...chainsOf(crawl, relative) })
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      problems.push(`'${shownFile(crawl.name, relative)}': ${error.message}`)
    }
  }
  problems.push(...findDuplicates(files))
  return { files, errorScopes, problems: problems.sort() }
}

/** The pattern of a path below the routes folder: `users/[id].ts` is `/users/[id]`. Throws `SyntaxError`. */
export function patternOf(relative: string): Pattern {
  const parts = relative.slice(0, relative.lastIndexOf('.')).split('/')
  const stem = parts.pop()!
  const folders = parts.filter((part) => !isGroup(part, relative))
  if (isGroup(stem, relative)) {
    throw new SyntaxError(`parse route file name: '${relative}', wanted a group '${stem}' to be a folder`)
  }
  const segments = folders.map((part) => parseSegment(part, relative))
  if (stem !== 'index') segments.push(parseSegment(stem, relative))
  return toPattern(segments, relative)
}

function isGroup(part: string, where: string): boolean {
  const opens = part.startsWith('(')
  if (opens && part.endsWith(')') && part.length > 2) return true
  if (opens) {
    throw new SyntaxError(`parse route file name: '${where}', wanted a group as (name), got '${part}'`)
  }
  return false
}

/** A file below the routes folder as people name it: `routes/users.ts`. */
export function shownFile(routesDir: string, relative: string): string {
  return `${routesDir.replace(/[\\/]+$/, '').replace(/^\.\//, '')}/${relative}`
}

function chainsOf(crawl: Crawl, relative: string): { middleware: CrawledFile[]; errors: CrawledFile[] } {
  const middleware: CrawledFile[] = []
  const errors: CrawledFile[] = []
  let folder = ''
  for (const part of ['', ...relative.split('/').slice(0, -1)]) {
    if (part !== '') folder = folder === '' ? part : `${folder}/${part}`
    const found = crawl.folders.get(folder)!
    middleware.push(...found.middleware)
    errors.unshift(...found.errors)
  }
  return { middleware, errors }
}

/**
 * The folders with error handlers of their own, parents first. A group's folder is no part of a path, so of folders with one
 * pattern only the outermost has a scope.
 */
function findErrorScopes(crawl: Crawl, problems: string[]): ErrorScope[] {
  const scopes: ErrorScope[] = []
  const taken = new Set<string>()
  for (const folder of crawl.folders.values()) {
    if (folder.errors.length === 0) continue
    const index = folder.relative === '' ? 'index.ts' : `${folder.relative}/index.ts`
    try {
      const pattern = patternOf(index)
      const shapes = expandOptional(pattern).map(shapeOf)
      if (shapes.some((shape) => taken.has(shape))) continue
      for (const shape of shapes) taken.add(shape)
      scopes.push({ pattern, errors: chainsOf(crawl, index).errors })
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      problems.push(`'${shownFile(crawl.name, folder.relative)}': ${error.message}`)
    }
  }
  return scopes
}

/** One message for each set of files that answer the same paths. */
function findDuplicates(files: readonly RouteFile[]): string[] {
  const owners = new Map<string, RouteFile[]>()
  for (const file of files) {
    for (const segments of expandOptional(file.pattern)) {
      const shape = shapeOf(segments)
      const known = owners.get(shape)
      if (known === undefined) owners.set(shape, [file])
      else known.push(file)
    }
  }
  const messages = new Set<string>()
  for (const [, claimants] of owners) {
    if (claimants.length < 2) continue
    const names = claimants.map(({ file, pattern }) => `'${file}' (${pattern.text})`).join(' and ')
    messages.add(`${names} answer the same paths, wanted one file for a pattern: remove or rename the others`)
  }
  return [...messages]
}

/** Messages for each mount (a route that takes all paths below its pattern) whose paths a catch-all file claims. */
export function findMountClashes(
  mounts: readonly { file: string; pattern: string }[],
  others: readonly { file: string; pattern: string }[],
): string[] {
  const owners = new Map<string, { file: string; pattern: string }>()
  for (const other of others) {
    for (const segments of expandOptional(parsePattern(other.pattern))) owners.set(shapeOf(segments), other)
  }
  const messages = new Set<string>()
  for (const mount of mounts) {
    for (const segments of expandOptional(parsePattern(mount.pattern))) {
      if (segments.at(-1)?.kind === 'catchAll') continue
      const below: Segment = { kind: 'catchAll', name: '', optional: false }
      const owner = owners.get(shapeOf([...segments, below]))
      if (owner === undefined || owner.file === mount.file) continue
      messages.add(
        `'${mount.file}' takes all paths below ${mount.pattern} by its default export, and '${owner.file}' ` +
          `(${owner.pattern}) too, wanted one of them: remove or rename the other`,
      )
    }
  }
  return [...messages].sort()
}
