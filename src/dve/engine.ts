import { check } from './check.ts'
import {
  type Compiled,
  compileRender,
  compileStream,
  type RenderFunction,
  type StreamFunction,
} from './compile.ts'
import type { Filter } from './emit_expression.ts'
import { type Source, TemplateError } from './error.ts'
import { checkOption, checkOptions } from '../options/check.ts'
import { withDefaults } from '../options/resolve.ts'
import { callback, integer, object, type OptionRules, text } from '../options/rule.ts'
import { type EngineLimits, FILTERS_RULE, LIMIT_DEFAULTS, LIMIT_RULES } from './limits.ts'
import { changedPaths, normalizeName, readTemplate, type ViewFolder } from './files.ts'
import { buildProgram, type LoadedSource, type LoadSource, type Program } from './program.ts'
import { createState, LimitError, type RenderLimits, type RenderState } from './state.ts'
import { openStream } from './stream.ts'
import { TextSizeError } from './operators.ts'

/** What happened to a template. `name` is its name below the views folder, `durationMs` the work in milliseconds. */
export interface EngineEvent {
  readonly name: string
  readonly durationMs: number
}

/** Functions that hear of an engine's work. They must not throw. Without them the clock is never read. */
export interface EngineHooks {
  /** A template was compiled for the first time. */
  compiled?: (event: EngineEvent) => void
  /** A page was rendered, or its stream has ended. */
  rendered?: (event: EngineEvent) => void
  /** A changed template was compiled again. */
  refreshed?: (event: EngineEvent) => void
  /** Compiling, refreshing or rendering failed. */
  error?: (event: EngineEvent & { readonly error: unknown }) => void
}

/** Options of an {@linkcode Engine}. Limits stand beside the others or in `limits`; the former win. */
export interface EngineOptions extends EngineLimits {
  /** The views folder. Without one there are only strings without includes. */
  viewsDir?: string | undefined
  /** Functions for `{{ value | name }}`. They get the value as it is and must answer at once. */
  filters?: Readonly<Record<string, Filter>> | undefined
  limits?: EngineLimits | undefined
  on?: EngineHooks | undefined
}

/** Options of {@linkcode Engine.stream}. */
export interface StreamOptions {
  /** Characters that a chunk gathers inside loops before it is handed over. Default 16 384. */
  chunkSize?: number | undefined
}

/** A compiled template. */
export interface Template {
  /** Renders to a string. Throws {@linkcode TemplateError}. */
  render(data?: object | null): string
  /** Renders as the reader asks, see {@linkcode Engine.stream}. */
  stream(data?: object | null, options?: StreamOptions): ReadableStream<Uint8Array<ArrayBuffer>>
  /** Absolute paths of the files that it was made of. */
  readonly dependencies: readonly string[]
}

/** A compiled page. `streaming` is made when a stream is first asked for. */
interface Page {
  readonly name: string
  readonly program: Program
  readonly rendering: Compiled<RenderFunction>
  streaming: Compiled<StreamFunction> | null
  readonly paths: ReadonlySet<string>
}

const RULES: OptionRules<EngineOptions> = {
  ...LIMIT_RULES,
  viewsDir: text('the path of a folder'),
  filters: FILTERS_RULE,
  limits: object(LIMIT_RULES),
  on: object({ compiled: callback(), rendered: callback(), refreshed: callback(), error: callback() }),
}
const CHUNK_SIZE_RULE = integer(1)
const DEFAULT_CHUNK_SIZE = 16_384
const STRING_NAME = '(string)'
const NO_DATA = Object.freeze({ __proto__: null })

/**
 * The DVE template engine. Pages are compiled on first use, kept by path, and dropped or refreshed when the application says
 * that a file has changed. Files are read at once (synchronously) and only when something is compiled.
 */
export class Engine {
  readonly #folder: ViewFolder | null
  readonly #filters: ReadonlyMap<string, Filter>
  readonly #limits: RenderLimits
  readonly #maxTemplateSize: number
  readonly #maxStreamSize: number
  /** Pages by the names that were asked for; both `a` and `a.dve` may lead to one page, other spellings are not kept. */
  readonly #pages = new Map<string, Page>()
  /** Names of pages that were dropped, so that compiling them again counts as a refresh. */
  readonly #dropped = new Set<string>()
  #hooks: EngineHooks | null

  /** Throws `TypeError` or `RangeError` naming the option that does not fit. No file is read. */
  constructor(options: EngineOptions = {}) {
    checkOptions('make Engine', options, RULES)
    const given = withDefaults(options, options.limits ?? {})
    const limits = withDefaults(given, LIMIT_DEFAULTS)
    this.#limits = limits
    this.#maxTemplateSize = limits.maxTemplateSize
    this.#maxStreamSize = given.maxOutputSize ?? Infinity
    this.#filters = new Map(Object.entries(options.filters ?? {}))
    this.#folder = options.viewsDir === undefined
      ? null
      : { dir: options.viewsDir, maxTemplateSize: limits.maxTemplateSize, root: null }
    this.#hooks = options.on ?? null
  }

  /** Replaces the hooks; undefined takes them away. */
  setHooks(hooks: EngineHooks | undefined): void {
    this.#hooks = hooks ?? null
  }

  /** Renders a page to a string. Rejects with {@linkcode TemplateError}. */
  // deno-lint-ignore require-await
  async render(name: string, data?: object | null): Promise<string> {
    return this.renderSync(name, data)
  }

  /** Renders a page to a string at once; compiles it first when that has not happened yet. Throws {@linkcode TemplateError}. */
  renderSync(name: string, data?: object | null): string {
    return this.#run(this.#pages.get(name) ?? this.#open(name), data)
  }

  /** Renders a template that is a string. It may include files of the views folder. Rejects with {@linkcode TemplateError}. */
  // deno-lint-ignore require-await
  async renderString(source: string, data?: object | null): Promise<string> {
    return this.#run(this.#compileText(source), data)
  }

  /**
   * Renders a page as its reader asks. Throws {@linkcode TemplateError} at once when the page cannot be compiled; a failure
   * after that errors the stream.
   */
  stream(
    name: string,
    data?: object | null,
    options: StreamOptions = {},
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#stream(this.#pages.get(name) ?? this.#open(name), data, options)
  }

  /** Compiles a string, and the files that it includes. Throws {@linkcode TemplateError}. */
  compile(source: string): Template {
    const page = this.#compileText(source)
    return {
      render: (data) => this.#run(page, data),
      stream: (data, options = {}) => this.#stream(page, data, options),
      dependencies: [...page.paths],
    }
  }

  /** Compiles a page that is not compiled yet. Throws {@linkcode TemplateError}. */
  load(name: string): void {
    if (!this.#pages.has(name)) this.#open(name)
  }

  /** Every problem of a page and of all that it includes, without rendering it. An empty list says that it is sound. */
  check(name: string): TemplateError[] {
    let entry: LoadedSource
    try {
      entry = this.#read(name, null)
    } catch (error) {
      if (error instanceof TemplateError) return [error]
      throw error
    }
    return check(entry, this.#load, this.#filters)
  }

  /** Absolute paths of the files that a compiled page was made of; empty when it is not compiled. */
  dependencies(name: string): string[] {
    const page = this.#pages.get(name)
    return page === undefined ? [] : [...page.paths]
  }

  /**
   * Drops every page that was made of the file `path` (absolute, or relative to the working directory or the views folder) or
   * of a file below the folder `path`; without a path, all. They are compiled again when they are next rendered. Gives the
   * names that were dropped.
   */
  invalidate(path?: string): string[] {
    const names = new Set<string>()
    for (const [key, page] of this.#affected(path)) {
      this.#pages.delete(key)
      this.#dropped.add(page.name)
      names.add(page.name)
    }
    return [...names]
  }

  /**
   * Compiles again every page that {@linkcode Engine.invalidate} would drop. A page that no longer compiles keeps its last good
   * version and calls the `error` hook; a page whose own file is gone is dropped. Gives the problems.
   */
  refresh(path?: string): TemplateError[] {
    const errors: TemplateError[] = []
    const fresh = new Map<Page, Page | null>()
    for (const [key, page] of this.#affected(path)) {
      if (!fresh.has(page)) fresh.set(page, this.#refreshPage(page, errors))
      const next = fresh.get(page)
      if (next === null || next === undefined) this.#pages.delete(key)
      else this.#pages.set(key, next)
    }
    return errors
  }

  #refreshPage(page: Page, errors: TemplateError[]): Page | null {
    const start = this.#hooks === null ? 0 : performance.now()
    try {
      const next = this.#compile(this.#read(page.name, null), page.name)
      this.#hooks?.refreshed?.({ name: page.name, durationMs: performance.now() - start })
      return next
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error
      if (isGone(page)) {
        this.#dropped.add(page.name)
        return null
      }
      errors.push(error)
      this.#reportError(page.name, start, error)
      return page
    }
  }

  #affected(path: string | undefined): [string, Page][] {
    const pages = [...this.#pages]
    if (path === undefined || this.#folder === null) return pages
    const changed = changedPaths(this.#folder, path)
    return pages.filter(([, page]) =>
      [...page.paths].some((file) => changed.some((name) => file === name || file.startsWith(`${name}/`)))
    )
  }

  /** Compiles a page that is not kept under `name`. */
  #open(name: string): Page {
    const clean = normalizeName(String(name))
    const short = clean.slice(0, -'.dve'.length)
    // A name with `..` may lead outside, which only the file system knows.
    const kept = name.includes('..') ? undefined : this.#pages.get(clean) ?? this.#pages.get(short)
    if (kept !== undefined) {
      if (name === clean || name === short) this.#pages.set(name, kept)
      return kept
    }
    const start = this.#hooks === null ? 0 : performance.now()
    try {
      const page = this.#compile(this.#read(name, null), short)
      this.#pages.set(clean, page)
      if (name === short) this.#pages.set(short, page)
      const isRefresh = this.#dropped.delete(short)
      const hook = isRefresh ? this.#hooks?.refreshed : this.#hooks?.compiled
      hook?.({ name: short, durationMs: performance.now() - start })
      return page
    } catch (error) {
      this.#reportError(short, start, error)
      throw error
    }
  }

  #compileText(text: string): Page {
    if (typeof text !== 'string') {
      throw new TypeError(`Cannot compile template: the source is ${typeof text}, want a string`)
    }
    const source: LoadedSource = { file: STRING_NAME, text, id: STRING_NAME, paths: [] }
    if (text.length > this.#maxTemplateSize) {
      throw new TemplateError(
        `Cannot read template: it has ${text.length} characters, want at most maxTemplateSize ${this.#maxTemplateSize}`,
        source,
        0,
        { limit: 'maxTemplateSize' },
      )
    }
    const start = this.#hooks === null ? 0 : performance.now()
    try {
      const page = this.#compile(source, STRING_NAME)
      this.#hooks?.compiled?.({ name: STRING_NAME, durationMs: performance.now() - start })
      return page
    } catch (error) {
      this.#reportError(STRING_NAME, start, error)
      throw error
    }
  }

  #compile(entry: LoadedSource, name: string): Page {
    const program = buildProgram(entry, this.#load, null)
    const rendering = compileRender(program, this.#filters)
    const paths = new Set(program.units.flatMap((unit) => unit.source.paths))
    return { name, program, rendering, streaming: null, paths }
  }

  readonly #load: LoadSource = (name, from, at) => this.#read(name, { source: from, at })

  #read(name: string, asker: { source: Source; at: number } | null): LoadedSource {
    if (this.#folder !== null) return readTemplate(this.#folder, String(name), asker)
    throw new TemplateError(
      `Cannot read template: ${JSON.stringify(name)} is a file, want an engine with viewsDir`,
      asker?.source ?? { file: String(name), text: '' },
      asker?.at ?? 0,
    )
  }

  #run(page: Page, data: object | null | undefined): string {
    const hooks = this.#hooks
    const start = hooks === null ? 0 : performance.now()
    const state = createState(this.#limits)
    try {
      const output = page.rendering.run(state, data ?? NO_DATA)
      if (output.length > state.maxOutput) throw outputError(state)
      if (hooks !== null) hooks.rendered?.({ name: page.name, durationMs: performance.now() - start })
      return output
    } catch (error) {
      const wrapped = toTemplateError(error, page.program, page.rendering.places, state)
      this.#reportError(page.name, start, wrapped)
      throw wrapped
    }
  }

  #stream(
    page: Page,
    data: object | null | undefined,
    options: StreamOptions,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { chunkSize = DEFAULT_CHUNK_SIZE } = options
    checkOption('stream', 'chunkSize', chunkSize, CHUNK_SIZE_RULE)
    const { run, places } = page.streaming ??= compileStream(page.program, this.#filters)
    const state = createState(this.#limits, this.#maxStreamSize, chunkSize)
    const start = this.#hooks === null ? 0 : performance.now()
    return openStream(run, state, data ?? NO_DATA, {
      onDone: () => this.#hooks?.rendered?.({ name: page.name, durationMs: performance.now() - start }),
      onError: (error) => {
        const wrapped = toTemplateError(error, page.program, places, state)
        this.#reportError(page.name, start, wrapped)
        return wrapped
      },
    })
  }

  #reportError(name: string, start: number, error: unknown): void {
    this.#hooks?.error?.({ name, durationMs: performance.now() - start, error })
  }
}

/** True when the page's own file is no longer there. */
function isGone(page: Page): boolean {
  try {
    Deno.statSync(page.program.entry.source.id)
    return false
  } catch (error) {
    return error instanceof Deno.errors.NotFound
  }
}

function outputError(state: RenderState): LimitError {
  state.place = 0
  return new LimitError(
    'maxOutputSize',
    `Cannot render: the output is longer than maxOutputSize ${state.maxOutput} characters`,
  )
}

/** What was thrown, with the place in the template where it happened. */
function toTemplateError(
  error: unknown,
  program: Program,
  places: readonly number[],
  state: RenderState,
): TemplateError {
  const { source } = program.units[places[state.place * 2]!]!
  const at = places[state.place * 2 + 1]!
  if (error instanceof LimitError) return new TemplateError(error.message, source, at, { limit: error.limit })
  if (error instanceof TextSizeError) {
    return new TemplateError(error.message, source, at, { limit: 'maxTextSize' })
  }
  return new TemplateError(`Cannot render: ${messageOf(error)}`, source, at, { cause: error })
}

/** The message of whatever was thrown, without running any of its code but that of genuine errors. */
function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (error instanceof Error) {
    const message = Object.getOwnPropertyDescriptor(error, 'message')?.value
    if (typeof message === 'string') return message
  }
  return 'the data or a filter threw what is no Error'
}
