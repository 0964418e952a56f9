import { withEitherDecorators } from '../../compiler/decorators.ts'
import { type Stoppable, useEsbuild } from '../../compiler/esbuild.ts'
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
  /** All exports by name. */
  readonly names: readonly string[]
}

interface Esbuild extends Stoppable {
  build(options: Record<string, unknown>): Promise<{
    outputFiles: { text: string }[]
    metafile: { outputs: Record<string, { exports: string[] }> }
  }>
}

interface ResolveArguments {
  kind: string
  importer: string
  path: string
}

interface PluginBuild {
  onResolve(options: { filter: RegExp }, fn: (args: ResolveArguments) => unknown): void
  onLoad(options: { filter: RegExp; namespace: string }, fn: (args: { path: string }) => unknown): void
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
 * esbuild parses the module, so that comments, strings, templates, regular expressions, JSX and types cannot
 * pose as an export or hide one. Names that come through `export *` are not seen. An `isolated` counts unless it is
 * certainly a constant and false, as in `export const isolated = false`.
 *
 * Throws `SourceError` with esbuild's message and its place if the module does not parse.
 */
export async function readExports(path: string, source: string): Promise<StaticExports> {
  const loader = path.slice(path.lastIndexOf('.') + 1).replace('mjs', 'js')
  const listed = await build(path, { stdin: { contents: source, loader, sourcefile: path }, bundle: false })
  const exports = Object.values(listed.metafile.outputs)[0].exports
  return {
    isolated: exports.includes('isolated') && !(await isFalse(path, listed.outputFiles[0].text)),
    methods: exports.filter(isMethod).sort(),
    hasDefault: exports.includes('default'),
    names: exports,
  }
}

const DECLARATION = /^const isolated = false;$/m

/**
 * Whether the module that esbuild printed as `text` exports the constant false. esbuild replaces an import by its
 * value only where nothing runs before the declaration, so that is asked with the declaration moved to the top as
 * well. If what was moved stood in a comment or template, the name is now declared twice and the module refused, or the
 * export is another variable, and not replaced.
 */
async function isFalse(path: string, text: string): Promise<boolean> {
  if (await isConstantFalse(path, text)) return true
  if (!DECLARATION.test(text)) return false
  try {
    return await isConstantFalse(path, 'const isolated = false;\n' + text.replace(DECLARATION, ''))
  } catch (error) {
    if (error instanceof SourceError) return false
    throw error
  }
}

const ENTRY = `import { isolated } from 'route'\nisolated ? $yes() : $no()`

/** Whether an entry that branches on the import shrinks to its else branch, and nothing but that. */
async function isConstantFalse(path: string, text: string): Promise<boolean> {
  const plugin = {
    name: 'route',
    setup(build: PluginBuild): void {
      build.onResolve({ filter: /.*/ }, ({ kind, importer, path }) => {
        if (kind === 'entry-point') return { path: 'entry', namespace: 'mayfly' }
        if (importer === 'entry') return { path: 'route', namespace: 'mayfly', sideEffects: false }
        return { path, external: true, sideEffects: false }
      })
      build.onLoad(
        { filter: /.*/, namespace: 'mayfly' },
        ({ path }) =>
          path === 'entry' ? { contents: ENTRY, loader: 'js' } : { contents: text, loader: 'jsx' },
      )
    },
  }
  const { outputFiles } = await build(path, {
    entryPoints: ['entry'],
    plugins: [plugin],
    bundle: true,
    minifySyntax: true,
  })
  return outputFiles[0].text === '// mayfly:entry\n$no();\n'
}

async function build(path: string, options: Record<string, unknown>): ReturnType<Esbuild['build']> {
  try {
    return await withEitherDecorators((tsconfigRaw) =>
      useEsbuild((esbuild: Esbuild) =>
        esbuild.build({
          ...options,
          format: 'esm',
          target: 'esnext',
          jsx: 'preserve',
          treeShaking: true,
          write: false,
          metafile: true,
          logLevel: 'silent',
          tsconfigRaw,
        })
      )
    )
  } catch (error) {
    const [first] = (error as { errors?: BuildMessage[] }).errors ?? []
    if (first === undefined) throw error
    const { line, column } = first.location ?? { line: 1, column: 0 }
    throw new SourceError(first.text, { file: path, line, column: column + 1 }, error)
  }
}

interface BuildMessage {
  text: string
  location: { line: number; column: number } | null
}
