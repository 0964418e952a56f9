/** Reads `export const isolated = …` from a source, without running it. */
import { evaluateLiteral, LiteralError } from '../../compiler/literal_value.ts'
import { listExports } from '../../compiler/module_exports.ts'
import { ModuleSyntaxError, type ModuleTree, parseModule } from '../../compiler/module_tree.ts'
import { type Place, ProgramError } from '../compile/compiler.ts'

/**
 * The value of a module's `export const isolated`: literals, and arithmetic on them. `path` gives the language by its
 * extension, `file` names it in errors.
 *
 * Throws `ProgramError` when the module does not parse, has no such export, or its value is no literal.
 */
export async function readIsolated(file: string, path: string, source: string): Promise<unknown> {
  const what = `read the isolation options of '${file}'`
  const { program, code, positionOf } = await parse(what, file, path, source)
  const { names, constants } = listExports(program)
  const value = constants.get('isolated')
  if (value === undefined || names.get('isolated') !== 'isolated') {
    throw new ProgramError(
      `${what}: no such declaration, wanted 'export const isolated = true' or '= { … }' in the file itself`,
      placeOfWord(file, source),
    )
  }
  try {
    return evaluateLiteral(value, code)
  } catch (error) {
    if (!(error instanceof LiteralError)) throw error
    const position = positionOf(error.at)
    const place = position === null ? placeOfWord(file, source) : { file, ...position }
    throw new ProgramError(`${what}: ${error.message}`, place, { cause: error })
  }
}

async function parse(what: string, file: string, path: string, source: string): Promise<ModuleTree> {
  try {
    return await parseModule(path, source)
  } catch (error) {
    if (!(error instanceof ModuleSyntaxError)) throw error
    throw new ProgramError(`${what}: ${error.message}`, { file, ...error.position }, { cause: error })
  }
}

function placeOfWord(file: string, source: string): Place {
  const before = source.slice(0, Math.max(0, source.search(/\bisolated\b/))).split('\n')
  return { file, line: before.length, column: before.at(-1)!.length + 1 }
}
