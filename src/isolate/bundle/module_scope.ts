/**
 * Gives a module the names that its loader would give it, as a bundle is one module for the runtime: `import.meta`, `__dirname`,
 * `__filename`, and what a `require` of its own finds. Modules that use none of them stay as they are.
 */
import { basename, dirname } from '@std/path'
import { listCreatedRequires } from '../../compiler/module_requires.ts'
import { ModuleSyntaxError, parseModule } from '../../compiler/module_tree.ts'
import { runTransform } from '../compile/compiler.ts'
import { resolveRequire } from '../resolve/deno_resolve.ts'
import { hasModuleSyntax, isCommonJs } from '../resolve/module_kind.ts'

/** What a scoped module imports: the functions of `guest/modules.ts`. */
export const SCOPE_MODULE = 'mayfly:scope'
/** What one that makes its own `require` imports: the modules that it names in calls. */
export const REQUIRED_MODULE = 'mayfly:required'

// A module without these words needs no closer look.
const META = /\bimport\s*\.\s*meta\b/
const FOLDER = /\b__(?:dirname|filename)\b/
const CREATE = /createRequire/
const RESOLVE = /\brequire\s*\.\s*resolve\s*\(/
const RESOLVED = /\brequire\s*\.\s*resolve\s*\(\s*(['"])([^'"\\]+)\1\s*[,)]/g

/** A module's text. */
export interface ModuleSource {
  readonly path: string
  readonly text: string
  /** As esbuild calls its language. */
  readonly loader: string
}

/** What stays the same for the modules of a program. */
export interface ScopeOptions {
  /** The module's path in the guest. */
  readonly guestPath: (path: string) => Promise<string>
  /** How esbuild compiles it. */
  readonly compile: Readonly<Record<string, unknown>>
}

/** The module as JavaScript with its scope, or null for one that needs none. Throws `ProgramError`. */
export async function withScope(module: ModuleSource, options: ScopeOptions): Promise<string | null> {
  const { path, text, loader } = module
  if (![META, FOLDER, CREATE, RESOLVE].some((pattern) => pattern.test(text))) return null
  const common = await isCommonJs(path)
  // Parsers of CommonJS have the words in their texts.
  const meta = META.test(text) && (!common || await hasModuleSyntax(path, text))
  const folder = FOLDER.test(text) && common
  const required = (await requiredBy(path, text)).length > 0
  const resolves = RESOLVE.test(text) && common
  if (!meta && !folder && !required && !resolves) return null
  const guestPath = await options.guestPath(path)
  const lines: string[] = []
  if (meta) {
    const url = new URL(`file://${guestPath.split('/').map(encodeURIComponent).join('/')}`).href
    lines.push(
      `import { describeModule as __mayflyDescribe } from '${SCOPE_MODULE}'`,
      `const __mayflyMeta = /* @__PURE__ */ __mayflyDescribe(${JSON.stringify(url)})`,
    )
  }
  if (required) {
    lines.push(common ? `require('${REQUIRED_MODULE}')` : `import '${REQUIRED_MODULE}'`)
  }
  if (resolves) {
    const paths = JSON.stringify(await resolvedBy(path, text, options.guestPath))
    lines.push(
      `var __mayflyResolve = require('${SCOPE_MODULE}').createResolve(${
        JSON.stringify(guestPath)
      }, ${paths})`,
    )
  }
  const { code } = await runTransform(`compile '${path}'`, text, {
    ...options.compile,
    format: undefined,
    loader,
    sourcefile: basename(path),
    sourcemap: 'inline',
    sourcesContent: false,
    banner: lines.join(';'),
    define: {
      ...(meta ? { 'import.meta': '__mayflyMeta' } : {}),
      ...(resolves ? { 'require.resolve': '__mayflyResolve' } : {}),
      ...(folder
        ? { __filename: JSON.stringify(guestPath), __dirname: JSON.stringify(dirname(guestPath)) }
        : {}),
    },
  })
  return code
}

/** The module that notes what the module `text` at `path` may require; the guest knows that one by `guestPath`. */
export async function requiredModule(path: string, text: string, guestPath: string): Promise<string> {
  const loads = (await requiredBy(path, text)).map((name) =>
    `${JSON.stringify(name)}: () => require(${JSON.stringify(name)})`
  )
  return `import { rememberModules } from '${SCOPE_MODULE}'
rememberModules(${JSON.stringify(guestPath)}, { ${loads.join(', ')} })`
}

/** Where the files that a module of CommonJS asks `require.resolve` for lie in the guest, by what it says. */
async function resolvedBy(
  path: string,
  text: string,
  guestPath: ScopeOptions['guestPath'],
): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { 2: specifier } of text.matchAll(RESOLVED)) {
    try {
      const file = resolveRequire(specifier!, path)
      if (file.startsWith('/')) found[specifier!] = await guestPath(file)
    } catch {
      // It is not there, which the call is told.
    }
  }
  return found
}

/** Specifiers in calls of what `createRequire` gave; none in a module that does not parse, about which the bundler complains. */
async function requiredBy(path: string, text: string): Promise<string[]> {
  if (!CREATE.test(text)) return []
  try {
    const commonJs = await isCommonJs(path) && !await hasModuleSyntax(path, text)
    const { program } = await parseModule(path, text, { everyImport: true, commonJs })
    return listCreatedRequires(program)
  } catch (error) {
    if (error instanceof ModuleSyntaxError) return []
    throw error
  }
}
