/**
 * Modules in stock Deno, by V8 alone: no file, no URL and no permission is needed, and a small module takes 0.1 ms, of which an import of a
 * `data:` URL takes ten times as much.
 */
import { type GuestProgram, MODULE_ROOT, type ModuleEntry } from '../message.ts'
import { getBuiltin, makeSynthetic, type NodeVm, type VmModule } from '../../isolate/guest/deno/node_vm.ts'
import { missingModule, type Namespace } from './engine.ts'

/** The part of `node:module` that is used here. */
interface NodeModule {
  stripTypeScriptTypes(code: string, options: { mode: 'strip' | 'transform' }): string
  isBuiltin(name: string): boolean
}

const { SourceTextModule, SyntheticModule } = getBuiltin<NodeVm>('node:vm')
const { stripTypeScriptTypes, isBuiltin } = getBuiltin<NodeModule>('node:module')
const { parse } = JSON
const Url = URL

/** Deno would start a thread that has nothing to load, and wait for it for ever. */
class RefusedWorker {
  constructor() {
    throw new DOMException(
      'Worker is not there: programs have no workers, want a call of the sandbox for each part of the work',
      'NotSupportedError',
    )
  }
}
Object.defineProperty(globalThis, 'Worker', { value: RefusedWorker, writable: true, configurable: true })

/** Runs a program; as {@link Evaluate}. */
export async function evaluate({ main, modules }: GuestProgram): Promise<Namespace> {
  const entries = new Map(modules.map((entry) => [MODULE_ROOT + entry[0], entry]))
  const made = new Map<string, VmModule | Promise<VmModule>>()
  const find = async (specifier: string, { identifier }: { identifier: string }): Promise<VmModule> => {
    const url = resolve(entries, specifier, identifier)
    const known = made.get(url)
    if (known !== undefined) return await known
    const entry = entries.get(url)
    const module = entry === undefined ? await makeBuiltin(specifier, identifier) : await make(url, entry)
    made.set(url, module)
    return module
  }
  const run = async (specifier: string, from: { identifier: string }): Promise<VmModule> => {
    const module = await find(specifier, from)
    if (module.status === 'unlinked') await module.link(find)
    await module.evaluate()
    return module
  }
  const make = async (url: string, [name, kind, content]: ModuleEntry): Promise<VmModule> => {
    switch (kind) {
      case 'json':
        return makeDefault(url, parse(content as string))
      case 'wasm':
        return makeDefault(url, await WebAssembly.compile(content as Uint8Array<ArrayBuffer>))
      case 'js':
      case 'ts':
        return await makeSource(url, name, kind, content as string, run)
      default:
        return makeDefault(url, content)
    }
  }
  return (await run(MODULE_ROOT + main, { identifier: MODULE_ROOT })).namespace
}

/** What an import names: a path beside its module, the name of a module, or anything else as it is. */
function resolve(entries: ReadonlyMap<string, ModuleEntry>, specifier: string, from: string): string {
  if (/^\.{0,2}\//.test(specifier)) return new Url(specifier, from).href
  const named = MODULE_ROOT + specifier
  return entries.has(named) ? named : specifier
}

async function makeSource(
  url: string,
  name: string,
  kind: 'js' | 'ts',
  text: string,
  run: (specifier: string, from: VmModule) => Promise<VmModule>,
): Promise<VmModule> {
  try {
    return new SourceTextModule(kind === 'ts' ? toJavaScript(text) : text, {
      identifier: url,
      initializeImportMeta(meta) {
        meta.url = url
        meta.main = false
        meta.resolve = (specifier: string) => new Url(specifier, url).href
      },
      importModuleDynamically: run,
    })
  } catch (error) {
    throw error instanceof SyntaxError ? await locate(error, url, name, kind, text) : error
  }
}

/** Types become blanks, so that every place stays where it was; what is more than types is compiled. */
function toJavaScript(text: string): string {
  try {
    return stripTypeScriptTypes(text, { mode: 'strip' })
  } catch (error) {
    if (/^\[InvalidSyntax\]/.test((error as Error).message)) throw error
    return stripTypeScriptTypes(text, { mode: 'transform' })
  }
}

/**
 * The error with its place, which V8 tells to nobody. Deno's own parser does: it reads the module once more, with a `throw` in front so
 * that nothing of it runs where that parser minds nothing.
 */
async function locate(
  error: SyntaxError,
  url: string,
  name: string,
  kind: 'js' | 'ts',
  text: string,
): Promise<SyntaxError> {
  const type = kind === 'ts' ? 'application/typescript' : 'text/javascript'
  const told = await import(`data:${type},${encodeURIComponent(`throw 0;${text}`)}`).then(
    () => '',
    (reason) => reason instanceof Error ? reason.message : '',
  )
  const [, message] = /^SyntaxError: (.*)/.exec(told) ?? []
  const [, line, column] = /:(\d+):(\d+)$/.exec(told) ?? []
  const place = line === undefined
    ? url
    : `${url}:${line}:${line === '1' ? Math.max(1, Number(column) - 'throw 0;'.length) : column}`
  const located = new SyntaxError(kind === 'ts' && message !== undefined ? message : error.message)
  located.stack = `SyntaxError: ${located.message}\n    at ${name} (${place})`
  return located
}

function makeDefault(url: string, value: unknown): VmModule {
  return makeSynthetic(SyntheticModule, url, { default: value })
}

/** A module of Node, which Deno has in itself. */
async function makeBuiltin(specifier: string, from: string): Promise<VmModule> {
  if (!isBuiltin(specifier)) throw missingModule(specifier, from.slice(MODULE_ROOT.length) || 'the program')
  const name = specifier.startsWith('node:') ? specifier : `node:${specifier}`
  return makeSynthetic(SyntheticModule, name, await import(name))
}
