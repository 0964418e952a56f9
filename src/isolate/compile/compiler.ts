/** esbuild, as the bundler and the reader of literals use it. */
import { type Stoppable, useEsbuild } from '../../compiler/esbuild.ts'

/** A position in a source file; line and column from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** A source that cannot be bundled or whose options cannot be read, and where. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError'
  /** Null when no single place is to blame. */
  readonly place: Place | null

  constructor(message: string, place: Place | null, options?: ErrorOptions) {
    super(place === null ? message : `${message} (${place.file}:${place.line}:${place.column})`, options)
    this.place = place
  }
}

/** An argument of a resolve callback. */
export interface ResolveArguments {
  readonly path: string
  readonly importer: string
  readonly namespace: string
  readonly kind: string
  readonly resolveDir: string
  readonly pluginData?: unknown
}

/** What a resolve callback gives. */
export interface ResolveResult {
  readonly path?: string | undefined
  readonly namespace?: string | undefined
  readonly external?: boolean | undefined
  readonly sideEffects?: boolean | undefined
  readonly errors?: readonly { readonly text: string }[] | undefined
  /** Comes to the load callback, and with {@link PluginBuild.resolve} to the resolve callbacks. */
  readonly pluginData?: unknown | undefined
}

/** An argument of a load callback. */
export interface LoadArguments {
  readonly path: string
  /** Import attributes. */
  readonly with: Readonly<Record<string, string>>
  readonly pluginData?: unknown
}

/** What a load callback gives. */
export interface LoadResult {
  readonly contents?: string | Uint8Array
  readonly loader?: string
  readonly resolveDir?: string
  readonly errors?: readonly { readonly text: string }[]
}

/** The part of esbuild's plugin interface that is used here. */
export interface PluginBuild {
  /** Resolves as the build would, callbacks included. */
  resolve(
    path: string,
    options: Omit<ResolveArguments, 'path'>,
  ): Promise<ResolveResult & { readonly errors: readonly { readonly text: string }[] }>
  onResolve(
    options: { filter: RegExp; namespace?: string },
    fn: (args: ResolveArguments) => Promise<ResolveResult | undefined> | ResolveResult | undefined,
  ): void
  onLoad(
    options: { filter: RegExp; namespace: string },
    fn: (args: LoadArguments) => Promise<LoadResult | undefined> | LoadResult | undefined,
  ): void
}

/** How esbuild takes a module. */
export type ModuleFormat = 'esm' | 'cjs'

/** What a build gives. */
export interface BuildResult {
  readonly outputFiles: readonly { readonly path: string; readonly contents: Uint8Array<ArrayBuffer> }[]
  readonly metafile: {
    readonly inputs: Readonly<
      Record<string, {
        readonly imports: readonly { readonly path: string }[]
        readonly format?: ModuleFormat
      }>
    >
  }
}

interface Esbuild extends Stoppable {
  build(options: Readonly<Record<string, unknown>>): Promise<BuildResult>
  transform(
    source: string,
    options: Readonly<Record<string, unknown>>,
  ): Promise<{ code: string; map: string }>
}

interface Message {
  readonly text: string
  readonly location: { readonly file: string; readonly line: number; readonly column: number } | null
}

/** The same for every file: nothing is read from the surroundings, and nothing is lowered. */
const COMMON_OPTIONS = {
  format: 'esm',
  target: 'esnext',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'silent',
  tsconfigRaw: '{}',
} as const

/**
 * Runs a build. Throws `ProgramError` with the first complaint; `shown` makes a path of esbuild's one for people, and `reasons` has why
 * a specifier that a plugin left to esbuild cannot be resolved.
 */
export async function runBuild(
  what: string,
  options: Readonly<Record<string, unknown>>,
  shown: (path: string) => string,
  reasons: ReadonlyMap<string, string> = new Map(),
): Promise<BuildResult> {
  try {
    return await useEsbuild((esbuild: Esbuild) => esbuild.build({ ...COMMON_OPTIONS, ...options }))
  } catch (error) {
    throw toProgramError(what, error, shown, reasons)
  }
}

/** How esbuild takes a text of this language, by its statements; undefined for one that says nothing. Throws `ProgramError`. */
export async function formatOf(text: string, loader: string): Promise<ModuleFormat | undefined> {
  const { metafile: { inputs } } = await runBuild('read a module', {
    stdin: { contents: text, loader },
    bundle: true,
    // Nothing that it imports is looked for.
    packages: 'external',
    external: ['*'],
    metafile: true,
    write: false,
  }, (path) => path)
  return Object.values(inputs)[0]?.format
}

/** Makes JavaScript of one source. Throws `ProgramError`. */
export async function runTransform(
  what: string,
  source: string,
  options: Readonly<Record<string, unknown>>,
): Promise<{ code: string; map: string }> {
  try {
    return await useEsbuild((esbuild: Esbuild) =>
      esbuild.transform(source, { ...COMMON_OPTIONS, ...options })
    )
  } catch (error) {
    throw toProgramError(what, error, (path) => path, new Map())
  }
}

function toProgramError(
  what: string,
  error: unknown,
  shown: (path: string) => string,
  reasons: ReadonlyMap<string, string>,
): unknown {
  const { errors } = error as { errors?: readonly Message[] }
  if (errors === undefined || errors.length === 0) return error
  const { text: said, location } = errors[0]!
  const unresolved = /^Could not resolve "(.*)"$/.exec(said)?.[1] ?? ''
  const reason = reasons.get(unresolved)
  const text = reason === undefined ? said : `import '${unresolved}': ${reason}`
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`
  const place = location === null
    ? null
    : { file: shown(location.file), line: location.line, column: location.column + 1 }
  return new ProgramError(`${what}: ${text}${more}`, place, { cause: error })
}
