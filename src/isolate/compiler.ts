/** esbuild, as the bundler and the reader of literals use it. */

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
}

/** What a resolve callback gives. */
export interface ResolveResult {
  readonly path?: string
  readonly namespace?: string
  readonly external?: boolean
  readonly errors?: readonly { readonly text: string }[]
}

/** The part of esbuild's plugin interface that is used here. */
export interface PluginBuild {
  onResolve(
    options: { filter: RegExp; namespace?: string },
    fn: (args: ResolveArguments) => Promise<ResolveResult | undefined> | ResolveResult | undefined,
  ): void
  onLoad(
    options: { filter: RegExp; namespace: string },
    fn: (args: { path: string }) => { contents: string | Uint8Array; loader: string; resolveDir?: string },
  ): void
}

/** What a build gives. */
export interface BuildResult {
  readonly outputFiles: readonly { readonly path: string; readonly contents: Uint8Array<ArrayBuffer> }[]
  readonly metafile: { readonly inputs: Readonly<Record<string, unknown>> }
}

// Only the calls that are made here; the package's own types are not resolved under every configuration.
interface Esbuild {
  build(options: Readonly<Record<string, unknown>>): Promise<BuildResult>
  transform(
    source: string,
    options: Readonly<Record<string, unknown>>,
  ): Promise<{ code: string; map: string }>
  stop(): Promise<void>
}

interface Message {
  readonly text: string
  readonly location: { readonly file: string; readonly line: number; readonly column: number } | null
}

/** The same for every file: nothing is read from the surroundings, and nothing is lowered. */
export const COMMON_OPTIONS = {
  format: 'esm',
  target: 'esnext',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'silent',
  tsconfigRaw: '{}',
} as const

let compiler: Promise<Esbuild> | null = null

/** Runs a build. Throws `ProgramError` with the first complaint; `shown` makes a path of esbuild's one for people. */
export async function runBuild(
  what: string,
  options: Readonly<Record<string, unknown>>,
  shown: (path: string) => string,
): Promise<BuildResult> {
  const esbuild = await (compiler ??= import('esbuild') as Promise<Esbuild>)
  try {
    return await esbuild.build({ ...COMMON_OPTIONS, ...options })
  } catch (error) {
    throw toProgramError(what, error, shown)
  }
}

/** Makes JavaScript of one source. Throws `ProgramError`. */
export async function runTransform(
  what: string,
  source: string,
  options: Readonly<Record<string, unknown>>,
): Promise<{ code: string; map: string }> {
  const esbuild = await (compiler ??= import('esbuild') as Promise<Esbuild>)
  try {
    return await esbuild.transform(source, { ...COMMON_OPTIONS, ...options })
  } catch (error) {
    throw toProgramError(what, error, (path) => path)
  }
}

/** Ends esbuild's process, if it runs; the next build starts another. */
export async function stopBundler(): Promise<void> {
  const running = compiler
  compiler = null
  if (running !== null) await (await running).stop()
}

function toProgramError(what: string, error: unknown, shown: (path: string) => string): unknown {
  const { errors } = error as { errors?: readonly Message[] }
  if (errors === undefined || errors.length === 0) return error
  const { text, location } = errors[0]
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`
  const place = location === null
    ? null
    : { file: shown(location.file), line: location.line, column: location.column + 1 }
  return new ProgramError(`${what}: ${text}${more}`, place, { cause: error })
}
