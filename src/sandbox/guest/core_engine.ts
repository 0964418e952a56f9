/** Modules in the runtime core: texts that its loader is told of, by their URLs. */
import { type GuestProgram, MODULE_ROOT, type ModuleEntry } from '../message.ts'
import { missingModule, type Namespace } from './engine.ts'

/** Makes `code` the module at `url`, which imports find by `name` too; `json`: its text for an import that wants JSON. */
export type DefineModule = (name: string, url: string, code: string, json: string | undefined) => void

/**
 * Runs `code` as the module at `url`, which imports nothing: its namespace, and the promise of its end. Undefined where it may import, and
 * where its error is for the loader to tell.
 */
export type RunModule = (
  url: string,
  code: string,
) => readonly [namespace: object, over: Promise<unknown>] | undefined

/** From TypeScript to JavaScript; lines stay. */
export type Strip = (text: string) => string

const { stringify } = JSON
const ROOT = MODULE_ROOT.slice(0, -1)
/** The loader keeps every module by its URL, those of the warm-up too: each program lies in a folder of its own. */
let programs = 0
/** Names that imports find. */
const known = new Set<string>()
/** Bytes on their way into their modules; taken away by these. */
const CARRIER = '__mayflyModules'

/** Makes what runs a program; as {@link Evaluate}. `strip` is null in a runner for JavaScript alone. */
export function createEvaluate(define: DefineModule, run: RunModule, strip: Strip | null) {
  return async ({ main, modules }: GuestProgram): Promise<Namespace> => {
    const root = `${ROOT}:${++programs}/`
    const bytes: Uint8Array<ArrayBuffer>[] = []
    const only = modules[0]!
    if (modules.length === 1 && (only[1] === 'js' || only[1] === 'ts')) {
      const code = only[1] === 'js' ? only[2] as string : toCode(only, strip, bytes, root)
      const ran = run(root + main, code)
      if (ran !== undefined) {
        await ran[1]
        return ran[0] as Namespace
      }
    }
    for (const entry of modules) {
      const [name, kind, content] = entry
      known.add(name)
      const json = kind === 'json' ? content as string : undefined
      define(name, root + name, toCode(entry, strip, bytes, root), json)
    }
    if (bytes.length > 0) {
      Object.defineProperty(globalThis, CARRIER, { value: bytes, configurable: true })
    }
    try {
      return await import(root + main)
    } catch (error) {
      throw explain(error)
    }
  }
}

/** The loader makes an empty module of what is not there, so that an import by name fails with words about its exports. */
function explain(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const [, link] = /^The requested module '([^']*)' does not provide an export/.exec(error.message) ?? []
  const [, run] = /^Cannot import (\S+): the runtime 'core' has no modules/.exec(error.message) ?? []
  const specifier = link ?? run
  const isThere = specifier === undefined ||
    (link !== undefined && (/^\.{0,2}\//.test(specifier) || known.has(specifier)))
  return isThere ? error : missingModule(specifier, 'the program')
}

function toCode(
  [name, kind, content]: ModuleEntry,
  strip: Strip | null,
  bytes: Uint8Array<ArrayBuffer>[],
  root: string,
): string {
  switch (kind) {
    case 'js':
      return content as string
    case 'ts':
      return toJavaScript(content as string, root + name, strip!)
    case 'json':
      return `export default JSON.parse(${stringify(content)})`
    case 'text':
      return `export default ${stringify(content)}`
    case 'data':
      return `export default globalThis.${CARRIER}[${bytes.push(content as Uint8Array<ArrayBuffer>) - 1}]`
    case 'wasm':
      // With the export that is asked for, or the import of that would be what fails.
      return `export default null\nthrow new TypeError(${
        stringify(
          `Cannot load ${name}: the runtime 'core' has no WebAssembly, want the sandbox's runtime: 'deno'`,
        )
      })`
  }
}

/** Sucrase tells the place of an error in its message alone. */
function toJavaScript(text: string, url: string, strip: Strip): string {
  try {
    return strip(text)
  } catch (error) {
    const [, message, line, column] = /^(.*) \((\d+):(\d+)\)$/.exec((error as Error).message) ?? []
    if (message === undefined) throw error
    const located = new SyntaxError(message)
    located.stack = `SyntaxError: ${message}\n    at ${url}:${line}:${column}`
    throw located
  }
}
