/** Reads which modules of a Rust crate use which others, for the test that wants no circles among them. */
import { join } from '@std/path'
import { findFiles, ROOT } from './source_tree.ts'

/** A module: its path in the crate (`['vm', 'reset']`), and what stands in its file, tests aside. */
export interface RustModule {
  readonly path: readonly string[]
  readonly text: string
}

/** The modules below a crate's `src`, without those that exist only in tests. */
export async function readCrate(folder: string): Promise<RustModule[]> {
  const src = `${folder}/src`
  const modules = await Promise.all((await findFiles(src, ['.rs'])).map(async (file) => {
    const path = file.slice(src.length + 1, -'.rs'.length).split('/')
    if (['lib', 'main', 'mod'].includes(path.at(-1)!)) path.pop()
    return { path, text: withoutTests(await Deno.readTextFile(join(ROOT, file))) }
  }))
  const declared = (path: readonly string[]): boolean => {
    if (path.length === 0) return true
    const parent = modules.find((module) => isSame(module.path, path.slice(0, -1)))
    const declares = new RegExp(`\\bmod ${path.at(-1)}\\s*;`)
    return parent !== undefined && declares.test(parent.text) && declared(parent.path)
  }
  return modules.filter((module) => declared(module.path))
}

/**
 * Circles among the modules of a crate, as `vm::a -> vm::b -> vm::a`. What lies in one folder is compared, each module
 * with all that lies below it: a module and those in its own folder are one thing, and may use each other.
 */
export function findCircles(modules: readonly RustModule[]): string[] {
  const edges = new Map<string, Set<string>>()
  for (const [from, to] of findUses(modules)) {
    let depth = 0
    while (depth < from.length && depth < to.length && from[depth] === to[depth]) depth++
    if (depth === from.length || depth === to.length) continue
    const [user, used] = [from, to].map((path) => path.slice(0, depth + 1).join('::'))
    edges.set(user, (edges.get(user) ?? new Set()).add(used))
  }
  const circles = new Set<string>()
  for (const start of [...edges.keys()].sort()) {
    const trail = shortestWay(edges, start)
    if (trail === undefined) continue
    const first = trail.indexOf([...trail].sort()[0])
    const turned = [...trail.slice(first), ...trail.slice(0, first)]
    circles.add([...turned, turned[0]].join(' -> '))
  }
  return [...circles]
}

/** The shortest way from a module back to itself, without its end. */
function shortestWay(edges: ReadonlyMap<string, ReadonlySet<string>>, start: string): string[] | undefined {
  const seen = new Set<string>()
  let trails = [[start]]
  while (trails.length > 0) {
    const longer: string[][] = []
    for (const trail of trails) {
      for (const next of edges.get(trail.at(-1)!) ?? []) {
        if (next === start) return trail
        if (seen.has(next)) continue
        seen.add(next)
        longer.push([...trail, next])
      }
    }
    trails = longer
  }
}

type Use = readonly [from: readonly string[], to: readonly string[]]

/** Every use of one module by another, as paths of modules. Names that a module passes on lead to where they come from. */
function findUses(modules: readonly RustModule[]): Use[] {
  const names = modules.map(({ path, text }) => ({ path, text, imports: readImports(path, text) }))
  const find = (path: readonly string[]) => names.find((module) => isSame(module.path, path))
  const resolve = (path: readonly string[], hops: number): readonly string[] => {
    for (let depth = 0; depth < path.length; depth++) {
      const below = path.slice(0, depth + 1)
      if (find(below) !== undefined) continue
      const passedOn = find(path.slice(0, depth))?.imports.get(path[depth])
      if (passedOn === undefined || hops > 8 || isSame(passedOn, path)) return path.slice(0, depth)
      return resolve([...passedOn, ...path.slice(depth + 1)], hops + 1)
    }
    return path
  }
  return names.flatMap((module) => {
    const inline = module.text.replace(USE, '').matchAll(/(?<![\w:])(?:crate|super|self)(?:::\w+)+/g)
    const paths = [...inline].map(([path]) => absolute(module.path, path.split('::')))
    return [...paths, ...module.imports.values()].map((path): Use => [module.path, resolve(path, 0)])
  })
}

const USE = /(?<![\w])use\s+[^;]+;/g

/** What a module's `use` declarations name, by the name that they give it. */
function readImports(module: readonly string[], text: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const [statement] of text.matchAll(USE)) {
    const tree = statement.slice('use'.length, -1).trim()
    for (const { path, name } of readTree(tree, [])) {
      found.set(name, absolute(module, path))
    }
  }
  return found
}

/** The paths of a `use` tree: `a::{b, c as d}` names `a::b` and `a::c`. */
function readTree(tree: string, before: readonly string[]): { path: string[]; name: string }[] {
  const brace = tree.indexOf('{')
  if (brace === -1) {
    const [whole, alias] = tree.split(/\s+as\s+/)
    const path = [...before, ...whole.trim().split('::')].filter((part) => part !== '')
    if (path.at(-1) === '*' || path.at(-1) === 'self' && path.length > 1) path.pop()
    return [{ path, name: alias?.trim() ?? (tree.endsWith('*') ? path.join('::') : path.at(-1)!) }]
  }
  const prefix = [...before, ...tree.slice(0, brace).trim().split('::').filter((part) => part !== '')]
  const parts: string[] = ['']
  let depth = 0
  for (const character of tree.slice(brace + 1, tree.lastIndexOf('}'))) {
    if (character === '{') depth++
    if (character === '}') depth--
    if (character === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts.filter((part) => part.trim() !== '').flatMap((part) => readTree(part.trim(), prefix))
}

/** A path from the crate's root. One that begins with no keyword is the module's own, or another crate's, which is then nowhere below. */
function absolute(module: readonly string[], path: readonly string[]): readonly string[] {
  const [first, ...rest] = path
  if (first === 'crate') return rest
  if (first === 'self') return [...module, ...rest]
  if (first !== 'super') return [...module, ...path]
  let up = 1
  while (path[up] === 'super') up++
  return [...module.slice(0, module.length - up), ...path.slice(up)]
}

const COMMENT_OR_STRING =
  /\/\/.*$|\/\*[\s\S]*?\*\/|\br(#*)"[\s\S]*?"\1|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[^']+|[^'\\])'/gm

/** A file's text without comments, strings and whatever is marked `#[cfg(test)]`. */
function withoutTests(text: string): string {
  const code = text.replaceAll(COMMENT_OR_STRING, ' ')
  let kept = ''
  let rest = code
  for (;;) {
    const mark = /#!?\[cfg\((?:test|all\(test.*?\))\)\]/.exec(rest)
    if (mark === null) return kept + rest
    kept += rest.slice(0, mark.index)
    if (mark[0].startsWith('#!')) return kept
    rest = rest.slice(mark.index + mark[0].length)
    rest = rest.slice(endOfItem(rest))
  }
}

/** Where an item ends: behind its closing brace, or its semicolon or comma before any brace. */
function endOfItem(text: string): number {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    if ('{(['.includes(text[i])) depth++
    if ('})]'.includes(text[i])) depth--
    if (depth === 0 && (text[i] === '}' || text[i] === ';' || text[i] === ',')) return i + 1
  }
  return text.length
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i])
}
