import type { Expression } from 'acorn'
import { evaluateLiteral, LiteralError } from '../../compiler/literal_value.ts'
import { listExports, type ModuleExports } from '../../compiler/module_exports.ts'
import { ModuleSyntaxError, type ModuleTree, parseModule } from '../../compiler/module_tree.ts'
import { SourceError } from './load_error.ts'
import { isMethod, type Method } from '../match/methods.ts'

/** What a module exports, found without running it. */
export interface StaticExports {
  /** `export const isolated` is there, and is not the constant false. */
  readonly isolated: boolean
  /** Exported methods, sorted. */
  readonly methods: readonly Method[]
  /** There is a default export. */
  readonly hasDefault: boolean
  /** `isolated` names a program that answers in place of handlers. */
  readonly hasProgram: boolean
  /** All exports by name. */
  readonly names: readonly string[]
}

/**
 * Whether `source` could export the name `isolated`. False is certain: without the word itself, an export of that
 * name needs an escape in an identifier or string, or comes from another module by `export *`.
 */
export function mayBeIsolated(source: string): boolean {
  return source.includes('isolated') || /\\[ux\r\n\u2028\u2029]/.test(source)
}

/**
 * Reads the exports of a module from its text; nothing of it runs. `path` gives the language by its extension.
 *
 * Names that come through `export *` are not seen. An `isolated` counts unless it is certainly a constant and false, as in
 * `export const isolated = false`.
 *
 * Throws `SourceError` with the place if the module does not parse.
 */
export async function readExports(path: string, source: string): Promise<StaticExports> {
  const { program, code } = await parse(path, source)
  const exports = listExports(program)
  const names = [...exports.names.keys()]
  return {
    isolated: names.includes('isolated') && !isFalse(exports, code),
    methods: names.filter(isMethod).sort(),
    hasDefault: names.includes('default'),
    hasProgram: namesProgram(exports, code),
    names,
  }
}

async function parse(path: string, source: string): Promise<ModuleTree> {
  try {
    return await parseModule(path, source)
  } catch (error) {
    if (!(error instanceof ModuleSyntaxError)) throw error
    throw new SourceError(error.message, { file: path, ...error.position }, error.cause)
  }
}

function namesProgram({ names, constants }: ModuleExports, code: string): boolean {
  const value = constants.get(names.get('isolated') ?? '')
  try {
    return Object(value === undefined ? undefined : evaluateLiteral(value, code)).program !== undefined
  } catch (error) {
    // Whoever reads the options says what is wrong with them.
    if (error instanceof LiteralError) return false
    throw error
  }
}

/** Whether what the module exports as `isolated` is a constant of its own, whose value is false or counts as false. */
function isFalse({ names, constants }: ModuleExports, code: string): boolean {
  let value: Expression | undefined = constants.get(names.get('isolated') ?? '')
  // A constant may be another one, and no chain of them is longer than there are constants.
  for (let left = constants.size; value?.type === 'Identifier' && left > 0; left--) {
    if (!constants.has(value.name)) break
    value = constants.get(value.name)
  }
  if (value === undefined) return false
  try {
    return !evaluateLiteral(value, code)
  } catch (error) {
    if (error instanceof LiteralError) return false
    throw error
  }
}
