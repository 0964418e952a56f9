/** Reads `export const isolated = …` from a source, without running it. */
import { withEitherDecorators } from '../../compiler/decorators.ts'
import { type Place, ProgramError, runTransform } from '../compile/compiler.ts'
import { evaluateLiteral, LiteralError } from './literal_value.ts'
import { originalPosition, parseSourceMap } from '../compile/source_map.ts'

/** How esbuild prints the declaration, and the export of the name in the list at the end. */
const DECLARATION = /^const isolated = /gm
const EXPORTED = /\nexport \{\n(?: {2}.*\n)*? {2}isolated,?\n(?: {2}.*\n)*\};\n$/

/**
 * The value of a module's `export const isolated`: literals, and arithmetic on them. `path` gives the language by its
 * extension, `file` names it in errors.
 *
 * esbuild prints the module anew, without types, with templates turned into plain strings: no token spans two lines then,
 * and what is nested is indented, so that a line which begins with the declaration is the declaration. The value is read from
 * there by a parser of literals.
 *
 * Throws `ProgramError` when the module does not parse, has no such export, or its value is no literal.
 */
export async function readIsolated(file: string, path: string, source: string): Promise<unknown> {
  const loader = path.slice(path.lastIndexOf('.') + 1).replace(/^m([jt]s)$/, '$1')
  const what = `read the isolation options of '${file}'`
  const { code, map } = await withEitherDecorators((tsconfigRaw) =>
    runTransform(what, source, {
      loader,
      sourcefile: file,
      sourcemap: 'external',
      jsx: 'automatic',
      supported: { 'template-literal': false },
      tsconfigRaw,
    })
  )
  const found = [...code.matchAll(DECLARATION)]
  if (found.length !== 1 || !EXPORTED.test(code)) {
    throw new ProgramError(
      `${what}: no such declaration, wanted 'export const isolated = true' or '= { … }' in the file itself`,
      placeOfWord(file, source),
    )
  }
  try {
    return evaluateLiteral(code, found[0].index + found[0][0].length)
  } catch (error) {
    if (!(error instanceof LiteralError)) throw error
    const before = code.slice(0, error.at).split('\n')
    const origin = originalPosition(parseSourceMap(map), before.length, before.at(-1)!.length + 1)
    const place = origin === null
      ? placeOfWord(file, source)
      : { file, line: origin.line, column: origin.column }
    throw new ProgramError(`${what}: ${error.message}`, place, { cause: error })
  }
}

function placeOfWord(file: string, source: string): Place {
  const before = source.slice(0, Math.max(0, source.search(/\bisolated\b/))).split('\n')
  return { file, line: before.length, column: before.at(-1)!.length + 1 }
}
