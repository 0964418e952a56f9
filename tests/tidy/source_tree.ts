/** Reads the project's own sources for the tests that keep the repository's rules. */
import { dirname, fromFileUrl, join, relative } from '@std/path'

export const ROOT = fromFileUrl(new URL('../..', import.meta.url))

const SKIPPED = new Set(['node_modules', 'target', 'results', 'screenshots', '.git'])

/** A source file and what it imports of the project, paths from the root. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly string[]
  /** Imports that exist at run time, without `import type`. */
  readonly runtimeImports: readonly string[]
}

/** Every file below `folder` whose name ends in one of `endings`, sorted. */
export async function findFiles(folder: string, endings: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for await (const entry of Deno.readDir(join(ROOT, folder))) {
    // Tests beside these make and remove folders of their own.
    if (SKIPPED.has(entry.name) || entry.name.startsWith('.routes-')) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory) found.push(...await findFiles(path, endings))
    else if (endings.some((ending) => entry.name.endsWith(ending))) found.push(path)
  }
  return found.sort()
}

/** The sources below `src` with their imports. */
export async function readSources(): Promise<SourceFile[]> {
  const paths = (await findFiles('src', ['.ts'])).filter((path) => !path.endsWith('.d.ts'))
  return Promise.all(paths.map(async (path) => {
    const text = await Deno.readTextFile(join(ROOT, path))
    const found = findImports(text).map(({ specifier, isType }) => ({
      target: relative(ROOT, join(ROOT, dirname(path), specifier)),
      isType,
    }))
    const imports = found.map(({ target }) => target)
    const runtimeImports = found.filter(({ isType }) => !isType).map(({ target }) => target)
    return { path, text, imports, runtimeImports }
  }))
}

const STATIC_IMPORT = /^(?:import|export)\s+(type\s)?(?:[^'";]*?from\s+)?'(\.[^']+)'/gm
const DYNAMIC_IMPORT = /\bimport\(\s*'(\.[^']+)'/g

/** The relative specifiers of a source: imports and exports, those for the effect alone, and `import()`. */
export function findImports(text: string): { readonly specifier: string; readonly isType: boolean }[] {
  return [
    ...[...text.matchAll(STATIC_IMPORT)].map(([, type, specifier]) => ({
      specifier,
      isType: type !== undefined,
    })),
    ...[...text.matchAll(DYNAMIC_IMPORT)].map(([, specifier]) => ({ specifier, isType: false })),
  ]
}

/** The room of a source: `src/router/match/match.ts` lies in `router`. */
export function roomOf(path: string): string {
  return path.split('/')[1]
}
