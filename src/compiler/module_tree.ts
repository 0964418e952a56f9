/** Modules as syntax trees, without running them: esbuild takes types and JSX away, acorn parses what is left. */
import type { Program } from 'acorn'
import { type Stoppable, useEsbuild } from './esbuild.ts'
import { originalPosition, parseSourceMap } from './source_map.ts'

/** A position in a source; line and column from 1. */
export interface SourcePosition {
  readonly line: number
  readonly column: number
}

/** A module that does not parse, and where. */
export class ModuleSyntaxError extends SyntaxError {
  override readonly name = 'ModuleSyntaxError'
  readonly position: SourcePosition

  constructor(message: string, position: SourcePosition, cause: unknown) {
    super(message, { cause })
    this.position = position
  }
}

/** A parsed module. */
export interface ModuleTree {
  readonly program: Program
  /** What {@link program} was parsed from: the module in plain JavaScript. */
  readonly code: string
  /** Where offset `at` of {@link code} comes from in the source; null where nothing of the source stands. */
  readonly positionOf: (at: number) => SourcePosition | null
}

interface Esbuild extends Stoppable {
  transform(
    source: string,
    options: Readonly<Record<string, unknown>>,
  ): Promise<{ code: string; map: string }>
}

interface Complaint {
  readonly text: string
  readonly location: { readonly line: number; readonly column: number } | null
}

/**
 * Parses a module. `path` gives the language by its extension. `everyImport` keeps those that nothing uses, which a module in TypeScript
 * loses otherwise, as they may name types. `commonJs` parses a module of CommonJS, which need not be strict.
 *
 * Throws `ModuleSyntaxError`.
 */
export async function parseModule(
  path: string,
  source: string,
  { everyImport = false, commonJs = false }: { readonly everyImport?: boolean; readonly commonJs?: boolean } =
    {},
): Promise<ModuleTree> {
  const { code, map } = await toJavaScript(path, source, everyImport)
  const origins = parseSourceMap(map)
  const positionOf = (at: number): SourcePosition | null => {
    const before = code.slice(0, at).split('\n')
    const origin = originalPosition(origins, before.length, before.at(-1)!.length + 1)
    return origin === null ? null : { line: origin.line, column: origin.column }
  }
  const { parse } = await import('acorn')
  try {
    const sourceType = commonJs ? 'commonjs' : 'module'
    return { program: parse(code, { ecmaVersion: 'latest', sourceType }), code, positionOf }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const { pos } = error as SyntaxError & { pos: number }
    // acorn ends its messages with the place in what it read.
    const message = error.message.replace(/ \(\d+:\d+\)$/, '')
    throw new ModuleSyntaxError(message, positionOf(pos) ?? { line: 1, column: 1 }, error)
  }
}

/**
 * Strips what is not JavaScript. Nothing else is lowered but decorators, which acorn does not know. They are the standard's, or those of
 * TypeScript where a module has these: a class's parameters have them in one kind alone, private members in the other.
 */
async function toJavaScript(
  path: string,
  source: string,
  everyImport: boolean,
  experimentalDecorators = false,
): Promise<{ code: string; map: string }> {
  try {
    return await useEsbuild((esbuild: Esbuild) =>
      esbuild.transform(source, {
        loader: path.slice(path.lastIndexOf('.') + 1).replace(/^[cm]([jt]s)$/, '$1'),
        sourcefile: path,
        sourcemap: 'external',
        sourcesContent: false,
        target: 'esnext',
        supported: { decorators: false },
        jsx: 'automatic',
        charset: 'utf8',
        logLevel: 'silent',
        tsconfigRaw: { compilerOptions: { experimentalDecorators, verbatimModuleSyntax: everyImport } },
      })
    )
  } catch (error) {
    const [first] = (error as { errors?: readonly Complaint[] }).errors ?? []
    if (first === undefined) throw error
    if (!experimentalDecorators && first.text.includes('when experimental decorators are enabled')) {
      return toJavaScript(path, source, everyImport, true)
    }
    const { line, column } = first.location ?? { line: 1, column: 0 }
    throw new ModuleSyntaxError(first.text, { line, column: column + 1 }, error)
  }
}
