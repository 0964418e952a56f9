/**
 * Gives classes and functions of a bundle the names that they have in their modules. The bundler renames what two modules call the same
 * (`Overload2`), and a class that names itself (`_Overload`); errors and libraries show those names and compare them. esbuild's own
 * `keepNames` sets the name of every closure each time it is made. Here only what was renamed pays, and of functions inside of others
 * only those with a capital, which are constructors.
 */
import { nameAt, parseSourceMap, type SourceMap } from '../../compiler/source_map.ts'

/** How esbuild prints a class, up to its body. */
const CLASS =
  /^( *(?:return )?(?:export )?(?:default )?(?:(?:var|let|const) )?)(?:([\w$]+) = )?class(?: ([\w$]+))?(?: extends [^{}()]*(?:\([^{}()]*\)[^{}()]*)*)? \{$/
const FUNCTION = /^( *)((?:async )?function\*? )([\w$]+)\(/
/** How a line before a statement ends; where a function begins behind another, it is a part of an expression. */
const STATEMENT_END = /(?:^|[;{}]|^\/\/.*)$/
/** Begins the wrapper of a module, in which its top is indented by four. */
const WRAPPER = / = __(?:commonJS|esm)\w*\(\{$/
/** A name that the bundler may have made. */
const MADE = /^_|\d$/

/** The bundle's text with its names, and what they need at its end; lines stay where the map has them. */
export function withOwnNames(code: string, map: string): string {
  const lines = code.split('\n')
  let [parsed, helper]: [SourceMap | null, string | null] = [null, null]
  // Texts of the program may look like its code: what stands in them has no origin.
  const ownName = (line: number, column: number) =>
    nameAt(parsed ??= parseSourceMap(map), line + 1, column + 1)
  let top = 0
  for (const [index, line] of lines.entries()) {
    if (/^\S/.test(line)) top = WRAPPER.test(line) ? 4 : 0
    const renamed = renamedClass(line, (column) => ownName(index, column)) ??
      (STATEMENT_END.test(lines[index - 1] ?? '')
        ? renamedFunction(line, top, (column) => ownName(index, column))
        : null)
    if (renamed === null) continue
    const { at, target, made, own } = renamed
    helper ??= unusedName(code)
    const call = `${helper}(${target}, ${JSON.stringify(made)}, ${JSON.stringify(own)})`
    lines[index] = at === 'body'
      ? `${line} static { ${call} }`
      : `${line.slice(0, at)}${call};${line.slice(at)}`
  }
  if (helper === null) return code
  // Hoisted: what stands above may call it. A class may have a member `name` of its own.
  lines.push(`function ${helper}(target, made, own) {
  if (Object.getOwnPropertyDescriptor(target, "name")?.value === made) Object.defineProperty(target, "name", { value: own, configurable: true });
}
`)
  return lines.join('\n')
}

interface Renamed {
  /** Where the call goes: the start of the class's body, or a column. */
  readonly at: 'body' | number
  readonly target: string
  /** The name that the bundler made. */
  readonly made: string
  readonly own: string
}

/** What the module calls the variable that stands at a column: null for one that has no origin. */
type OwnName = (column: number) => { readonly name: string | null } | null

function renamedClass(line: string, ownName: OwnName): Renamed | null {
  const [found, before, variable, inner] = CLASS.exec(line) ?? []
  if (found === undefined) return null
  const [made, outer] = [inner ?? variable, variable ?? inner]
  if (made === undefined || !MADE.test(made)) return null
  const origin = ownName(variable === undefined ? line.indexOf(made, before!.length + 5) : before!.length)
  if (origin === null) return null
  const own = origin.name ?? outer!
  return own === made ? null : { at: 'body', target: 'this', made, own }
}

/** `top`: how far the top of its module is indented. */
function renamedFunction(line: string, top: number, ownName: OwnName): Renamed | null {
  const [found, indent, keyword, made] = FUNCTION.exec(line) ?? []
  if (found === undefined || !MADE.test(made!)) return null
  if (indent!.length !== top && !/^_*[A-Z]/.test(made!)) return null
  const own = ownName(indent!.length + keyword!.length)?.name ?? null
  return own === null || own === made ? null : { at: indent!.length, target: made!, made: made!, own }
}

function unusedName(code: string): string {
  let name = '__mayflyOwnName'
  while (code.includes(name)) name += '_'
  return name
}
