/**
 * Globals that packages use and the runtime `core` has not: the bundler knows who uses them, so the server can say it at the
 * start and not in the middle of a request.
 */
import type { BuildResult } from '../compile/compiler.ts'
import { originalPosition, parseSourceMap } from '../../compiler/source_map.ts'

/** A file of a program that uses a global which its runtime has not. */
export interface MissingUse {
  /** `Intl`, `WebAssembly`. */
  readonly global: string
  /** Absolute path of the file, and the line of its first use. */
  readonly file: string
  readonly line: number
  /** The route files that import it, or are it, as indices of the bundle's files. */
  readonly routes: readonly number[]
}

const GLOBALS = ['Intl', 'WebAssembly'] as const
/** Objects that have all globals as members. */
const HOLDERS = ['globalThis', 'self'] as const

/** esbuild's `define`: what it puts in place of each use that is the global's, and no variable's of that name. */
export const MISSING_PROBES: Readonly<Record<string, string>> = Object.fromEntries(
  GLOBALS.flatMap((name) =>
    [name, ...HOLDERS.map((holder) => `${holder}.${name}`)].map((use) => [
      use,
      probeOf(name),
    ])
  ),
)

function probeOf(name: string): string {
  return `__mayfly_missing_${name}`
}

/** What a build with {@link MISSING_PROBES} uses of them: each file once for each name. `files`: the route files. */
export function findMissing(
  { code, map, metafile }: { readonly code: string; readonly map: string } & Pick<BuildResult, 'metafile'>,
  files: readonly string[],
): MissingUse[] {
  const used = GLOBALS.filter((name) => code.includes(probeOf(name)))
  if (used.length === 0) return []
  const origins = parseSourceMap(map)
  const found = new Map<string, Omit<MissingUse, 'routes'>>()
  for (const [index, text] of code.split('\n').entries()) {
    for (const global of used) {
      for (let at = text.indexOf(probeOf(global)); at >= 0; at = text.indexOf(probeOf(global), at + 1)) {
        const origin = originalPosition(origins, index + 1, at + 1)
        if (origin === null) continue
        const file = toPath(origin.source)
        const line = Math.min(origin.line, found.get(`${global} ${file}`)?.line ?? Infinity)
        found.set(`${global} ${file}`, { global, file, line })
      }
    }
  }
  const reached = files.map((file) => reachedFrom(file, metafile))
  return [...found.values()].map((use) => {
    const routes = [...files.keys()].filter((index) => reached[index]!.has(use.file))
    // By another path than its importers name it, behind a link: any may be the one.
    return { ...use, routes: routes.length === 0 ? [...files.keys()] : routes }
  })
}

/** The files that a file imports, at any depth, and itself. */
function reachedFrom(file: string, { inputs }: BuildResult['metafile']): Set<string> {
  const imports = new Map(
    Object.entries(inputs).map((
      [name, input],
    ) => [toPath(name), input.imports.map(({ path }) => toPath(path))]),
  )
  const reached = new Set([file])
  for (const each of reached) for (const imported of imports.get(each) ?? []) reached.add(imported)
  return reached
}

/** esbuild names files from its working folder, `/`. */
function toPath(name: string): string {
  return /^\/|^<?\w[\w+.-]*:/.test(name) ? name : `/${name}`
}

/** Files that a line names. */
const SHOWN = 3

/** One line for each global: who uses it, and what to write. `names`: the route files as people know them. */
export function describeMissing(uses: readonly MissingUse[], names: readonly string[]): string[] {
  return GLOBALS.flatMap((global) => {
    const of = uses.filter((use) => use.global === global)
    if (of.length === 0) return []
    const routes = [...names.keys()].filter((index) => of.some(({ routes }) => routes.includes(index)))
    const shown = of.slice(0, SHOWN).map(({ file, line }) => `${toShown(file)}:${line}`)
    const more = of.length > SHOWN ? [`${of.length - SHOWN} more`] : []
    const who = new Intl.ListFormat('en').format([...shown, ...more])
    return `${
      routes.map((index) => names[index]).join(', ')
    }: the runtime 'core' has no ${global}, which ${who} ` +
      `use${of.length === 1 ? 's' : ''}: want isolated = { runtime: 'deno' }, unless it does without`
  })
}

/** A file of a package by the package's name. */
function toShown(file: string): string {
  return /^.*\/(?:node_modules|npm\/[^/]+)\/(.*)$/.exec(file)?.[1] ?? file
}
