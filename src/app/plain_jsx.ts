/**
 * JSX in plain routes, compiled as the project's `deno.json` says, as in isolated ones. Deno takes the options of the configuration that
 * it was started with; where that has none for JSX, each tag would become a call of a `React` that nobody imported.
 */
import { extname, fromFileUrl, join } from '@std/path'
import { loadEsbuild } from '../compiler/esbuild.ts'
import { readCompilerOptions, toCompilation } from '../isolate/compile/compiler_options.ts'
import { findProject } from '../isolate/resolve/project.ts'

const JSX = /\.[jt]sx$/
/** A file that says itself what its JSX is, which Deno goes by. */
const PRAGMA = /@jsx(?:Runtime|ImportSource|Frag)?\s/
const PROBE = 'data:text/jsx,export default () => <a/>'

/** The compiler of a project's JSX, at work until it is closed. */
export interface PlainJsx {
  close(): void
}

interface Esbuild {
  stop(): Promise<void>
  transformSync(source: string, options: Readonly<Record<string, unknown>>): { code: string }
}

/** Compiles the JSX of the project of `routesDir` from now on; null where there is none, or Deno was started with options for it. */
export async function openPlainJsx(routesDir: string): Promise<PlainJsx | null> {
  if (!await hasJsx(routesDir) || !await meansReact()) return null
  const project = await findProject(routesDir)
  const options = await readCompilerOptions(routesDir, project)
  const isDefault = options.jsx === 'react' &&
    (options.jsxFactory ?? 'React.createElement') === 'React.createElement'
  if (isDefault) return null
  const esbuild = await loadEsbuild<Esbuild>()
  const { registerHooks } = await import('node:module')
  const hook = registerHooks({
    load(url, context, next) {
      const path = toSource(url, project)
      const source = path === null ? null : Deno.readTextFileSync(path)
      if (path === null || source === null || PRAGMA.test(source)) return next(url, context)
      return { format: 'module', source: compile(esbuild, path, source, options), shortCircuit: true }
    },
  })
  return { close: () => hook.deregister() }
}

/** The file of a module of the project that has JSX, or null. Versions of hot reload are queries. */
function toSource(url: string, project: string): string | null {
  const bare = url.replace(/[?#].*$/, '')
  if (!bare.startsWith('file:') || !JSX.test(bare) || bare.includes('/node_modules/')) return null
  const path = fromFileUrl(bare)
  return Deno.realPathSync(path).startsWith(`${project}/`) ? path : null
}

function compile(
  esbuild: Esbuild,
  path: string,
  source: string,
  options: Parameters<typeof toCompilation>[0],
): string {
  try {
    return esbuild.transformSync(source, {
      ...toCompilation(options),
      loader: extname(path).slice(1),
      format: 'esm',
      target: 'esnext',
      sourcemap: 'inline',
      sourcefile: path,
      logLevel: 'silent',
    }).code
  } catch (error) {
    const [first] =
      (error as { errors?: { text: string; location: { line: number; column: number } | null }[] })
        .errors ?? []
    if (first === undefined) throw error
    const { line, column } = first.location ?? { line: 1, column: 0 }
    throw new SyntaxError(`${first.text} at file://${path}:${line}:${column + 1}`, { cause: error })
  }
}

/** Whether Deno, as it was started, compiles JSX as it does where nothing says how. */
async function meansReact(): Promise<boolean> {
  try {
    const { default: probe } = await import(PROBE) as { default: () => unknown }
    return String(probe).includes('React.createElement')
  } catch {
    // The runtime that was asked for is not there for this module; it was asked for.
    return false
  }
}

async function hasJsx(folder: string): Promise<boolean> {
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (JSX.test(name) || (isDirectory && await hasJsx(join(folder, name)))) return true
    }
    return false
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false
    throw error
  }
}
