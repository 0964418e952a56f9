/** The project that a folder belongs to, as Deno has it. */
import { dirname, globToRegExp, join, relative } from '@std/path'
import { parse } from '@std/jsonc'
import { isFile } from './files.ts'

/** A folder with one of these is a project. */
const MARKS = ['deno.json', 'deno.jsonc', 'package.json', 'deno.lock']
const CONFIGS = MARKS.slice(0, 3)

/**
 * The real path of the project: the nearest folder at or above `folder` with a configuration or a lock file, or the workspace that it is
 * a member of; `folder` itself where there is none. The root of the file system is no project. Rejects where `folder` is not there.
 */
export async function findProject(folder: string): Promise<string> {
  const start = await Deno.realPath(folder)
  for (const project of foldersFrom(start)) {
    if (isProject(project)) return await findWorkspace(project) ?? project
  }
  return start
}

/** The folder and those above it, without the root of the file system. */
function* foldersFrom(folder: string): Generator<string> {
  for (let path = folder; dirname(path) !== path; path = dirname(path)) yield path
}

function isProject(folder: string): boolean {
  return MARKS.some((name) => isFile(join(folder, name)))
}

async function findWorkspace(project: string): Promise<string | null> {
  for (const folder of foldersFrom(dirname(project))) {
    for (const name of CONFIGS) {
      const path = join(folder, name)
      if (!isFile(path)) continue
      if (isMember(readMembers(await Deno.readTextFile(path)), relative(folder, project))) return folder
    }
  }
  return null
}

/** Patterns of the members that a configuration lists: `workspace` of Deno, `workspaces` of npm. A file that cannot be read lists none. */
function readMembers(text: string): string[] {
  let config: Record<string, unknown>
  try {
    config = parse(text) as Record<string, unknown>
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
  const listed = config?.workspace ?? config?.workspaces as unknown
  const { members, packages } = Object(listed)
  const patterns = [listed, members, packages].find(Array.isArray) ?? []
  return patterns.filter((pattern: unknown) => typeof pattern === 'string')
}

function isMember(patterns: readonly string[], path: string): boolean {
  const matches = (pattern: string) => globToRegExp(join(pattern, '.')).test(path)
  return patterns.some((pattern) => !pattern.startsWith('!') && matches(pattern)) &&
    !patterns.some((pattern) => pattern.startsWith('!') && matches(pattern.slice(1)))
}
