/**
 * Gives a module the names that its loader would give it, as a bundle is one module for the runtime: `import.meta`, `__dirname`,
 * `__filename`, and what a `require` of its own finds. Modules that use none of them stay as they are.
 */
import { basename, dirname } from '@std/path'
import { runTransform } from '../compile/compiler.ts'
import { hasModuleSyntax, isCommonJs } from '../resolve/module_kind.ts'

/** What a scoped module imports: the functions of `guest/modules.ts`. */
export const SCOPE_MODULE = 'mayfly:scope'
/** What one that makes its own `require` imports: the modules that it names in calls. */
export const REQUIRED_MODULE = 'mayfly:required'

const META = /\bimport\s*\.\s*meta\b/
const FOLDER = /\b__(?:dirname|filename)\b/
const CREATE = /createRequire/
/** Other names that a module gives it: `import { createRequire as make }`, `const { createRequire: make } =`. */
const ALIAS = /createRequire\s*(?:\bas\b|:)\s*([\w$]+)/g
/** What stands in quotes as the only argument of a call. */
const ARGUMENT = String.raw`\s*\(\s*(?:'([^'\n]+)'|"([^"\n]+)")\s*\)`

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
  if (![META, FOLDER, CREATE].some((pattern) => pattern.test(text))) return null
  const common = await isCommonJs(path)
  // Parsers of CommonJS have the words in their texts.
  const meta = META.test(text) && (!common || hasModuleSyntax(path, text))
  const folder = FOLDER.test(text) && common
  const required = requiredBy(text).length > 0
  if (!meta && !folder && !required) return null
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
      ...(folder
        ? { __filename: JSON.stringify(guestPath), __dirname: JSON.stringify(dirname(guestPath)) }
        : {}),
    },
  })
  return code
}

/** The module that notes what the module `text` at `guestPath` may require. */
export function requiredModule(text: string, guestPath: string): string {
  const loads = requiredBy(text).map((name) =>
    `${JSON.stringify(name)}: () => require(${JSON.stringify(name)})`
  )
  return `import { rememberModules } from '${SCOPE_MODULE}'
rememberModules(${JSON.stringify(guestPath)}, { ${loads.join(', ')} })`
}

/** Specifiers in calls of what `createRequire` gave. More than there are do no harm: what is not there fails when it is asked for. */
function requiredBy(text: string): string[] {
  if (!CREATE.test(text)) return []
  const makers = ['createRequire', ...[...text.matchAll(ALIAS)].map(([, alias]) => alias!)].map(escapeName)
  const call = String.raw`(?<![\w$])(?:${makers.join('|')})\s*\(`
  const found = new Set<string>()
  const add = (pattern: string) => {
    for (const [, single, double] of text.matchAll(new RegExp(pattern, 'g'))) found.add(single ?? double!)
  }
  add(String.raw`${call}(?:[^()]|\([^()]{0,200}\)){0,200}\)${ARGUMENT}`)
  const named = text.matchAll(new RegExp(String.raw`([\w$]+)\s*=\s*(?:[\w$]+\.)?${call}`, 'g'))
  for (const name of new Set([...named].map(([, name]) => escapeName(name!)))) {
    add(String.raw`(?<![\w$.])${name}${ARGUMENT}`)
  }
  return [...found]
}

function escapeName(name: string): string {
  return name.replaceAll('$', '\\$')
}
