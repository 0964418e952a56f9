/** Which modules are of CommonJS, and what an import of one gives: as Deno has it, not as bundlers do. */
import { dirname, extname, join } from '@std/path'
import { formatOf, ProgramError } from '../compile/compiler.ts'
import { isPackageFile } from './deno_resolve.ts'
import { isFile } from './files.ts'

/** Namespace of the modules that stand between an ES module and one of CommonJS, whose path they have. */
export const INTEROP_NAMESPACE = 'interop'
/** A text in which this is nowhere, not even in a comment, is no ES module, and need not be parsed. */
const MAY_BE_MODULE = /(?:^|[;}]|\*\/)[^\S\n]*(?:export\b|import\b(?!\s*\())|\bimport\s*\.\s*meta\b/m

/** Whether a file is of CommonJS, as Node and Deno decide it: by its extension, or the `type` of the nearest `package.json`. */
export async function isCommonJs(path: string): Promise<boolean> {
  if (/\.c[jt]s$/.test(path)) return true
  if (!/\.[jt]sx?$/.test(path)) return false
  const isPackage = await isPackageFile(path)
  const folder = dirname(path)
  const type = isPackage ? types.get(folder) ?? await findType(folder) : await findType(folder)
  if (isPackage) types.set(folder, type)
  return type === '' ? isPackage : type === 'commonjs'
}

/** Of folders of packages, which nobody changes. */
const types = new Map<string, string>()

/** The `type` of the nearest `package.json`; '' where there is none, or it has none. */
async function findType(start: string): Promise<string> {
  for (let folder = start; dirname(folder) !== folder; folder = dirname(folder)) {
    const path = join(folder, 'package.json')
    if (!isFile(path)) continue
    const { type } = Object(JSON.parse(await Deno.readTextFile(path)))
    return typeof type === 'string' ? type : ''
  }
  return ''
}

/**
 * Whether an import of `path` by `importer`, both files, is one of CommonJS by an ES module: its default is all that the module exports,
 * even if that says that it was an ES module once (`__esModule`). Packages that only bundlers read as ES modules are none.
 */
export async function crossesKinds(importer: string, path: string): Promise<boolean> {
  if (!await isCommonJs(path) || await isCommonJs(importer)) return false
  return !await hasModuleSyntax(path, await Deno.readTextFile(path))
}

/** Whether a file that counts as one of CommonJS is an ES module for the bundler. One that does not parse is none; the build says so. */
export async function hasModuleSyntax(path: string, text: string): Promise<boolean> {
  if (/\.c[jt]s$/.test(path) || !MAY_BE_MODULE.test(text)) return false
  if (!await isPackageFile(path)) return await readsAsModule(path, text)
  const known = modules.get(path) ?? readsAsModule(path, text)
  modules.set(path, known)
  return await known
}

/** Of files of packages, which nobody changes. */
const modules = new Map<string, Promise<boolean>>()

async function readsAsModule(path: string, text: string): Promise<boolean> {
  try {
    return await formatOf(text, extname(path).slice(1)) === 'esm'
  } catch (error) {
    if (error instanceof ProgramError) return false
    throw error
  }
}

/** What an ES module sees of the module of CommonJS at `path`. */
export function interopModule(path: string): string {
  const name = JSON.stringify(path)
  return `export * from ${name}
const all = require(${name})
export { all as default, all as 'module.exports' }`
}
