/**
 * Files of npm packages as the runtime `core` wants them: by the conditions and fields of browsers and workers, which Deno's own
 * resolver does not ask for. enhanced-resolve reads the packages, and Deno says where each lies.
 */
/** How a module names another: the two have conditions of their own. */
export type ImportKind = 'import' | 'require'

/** Where the package that `request` names lies, for an importer in `folder`; rejects where there is none. */
export type FindPackage = (request: string, folder: string) => Promise<string>

/** The path of a file, false where the package says that browsers have none, or the name of a module of Node. */
export type PackageFile = { readonly path: string } | { readonly builtin: string } | false

interface Request {
  readonly path: string
  readonly request?: string
  /** A slash was behind it: it means a package, and no module of Node. */
  readonly directory?: boolean
  readonly context: Question
}

interface Question {
  readonly findPackage: FindPackage
  readonly isBuiltin: (specifier: string) => boolean
  builtin: string | null
}

type Callback = (error?: Error | null, result?: unknown) => void

interface Hook {
  tapAsync(name: string, fn: (request: Request, context: unknown, callback: Callback) => void): void
}

interface Resolver {
  ensureHook(name: string): Hook
  getHook(name: string): Hook
  doResolve(hook: Hook, request: unknown, message: string, context: unknown, callback: Callback): void
  resolve(
    question: Question,
    folder: string,
    request: string,
    context: Record<string, never>,
    callback: (error: Error | null, path?: string | false) => void,
  ): void
}

interface EnhancedResolve {
  readonly default: {
    readonly ResolverFactory: { createResolver(options: Readonly<Record<string, unknown>>): Resolver }
  }
}

const CONDITIONS = ['worker', 'browser', 'module', 'production', 'default']
/** As plain Deno takes `main`, whose default export is another than that of `module` in some packages. */
const MAIN_FIELDS = ['browser', 'main', 'module']
const KINDS = {
  import: { conditionNames: [...CONDITIONS, 'import'], mainFields: MAIN_FIELDS },
  require: { conditionNames: [...CONDITIONS, 'require'], mainFields: MAIN_FIELDS },
} as const

let resolvers: Promise<Readonly<Record<ImportKind, Resolver>>> | null = null

/** Resolves `request` for a module in `folder`. Rejects with an `Error` that says what is not there. */
export async function resolvePackageFile(
  folder: string,
  request: string,
  kind: ImportKind,
  { findPackage, isBuiltin }: Pick<Question, 'findPackage' | 'isBuiltin'>,
): Promise<PackageFile> {
  const resolver = (await (resolvers ??= createResolvers()))[kind]
  const question: Question = { findPackage, isBuiltin, builtin: null }
  return await new Promise((resolve, reject) => {
    resolver.resolve(question, folder, request, {}, (error, path) => {
      if (question.builtin !== null) resolve({ builtin: question.builtin })
      else if (error !== null) reject(error)
      else resolve(path === false || path === undefined ? false : { path: path.replace(/[?#].*$/, '') })
    })
  })
}

async function createResolvers(): Promise<Readonly<Record<ImportKind, Resolver>>> {
  const { default: { ResolverFactory } } = await import('enhanced-resolve') as unknown as EnhancedResolve
  const fs = await import('node:fs')
  const create = (kind: ImportKind) =>
    ResolverFactory.createResolver({
      ...KINDS[kind],
      fileSystem: fs,
      aliasFields: ['browser'],
      extensions: ['.js', '.mjs', '.cjs', '.json', '.ts'],
      modules: [],
      pnpApi: null,
      plugins: [{ apply: askDeno }],
    })
  return { import: create('import'), require: create('require') }
}

/** A plugin: a bare name goes to the folder that Deno has the package in, as in a layout without `node_modules`. */
function askDeno(resolver: Resolver): void {
  const inPackage = resolver.ensureHook('undescribed-resolve-in-package')
  resolver.getHook('raw-module').tapAsync('Deno', (request, context, callback) => {
    const specifier = request.request
    if (specifier === undefined) return callback()
    const question = request.context
    if (request.directory !== true && question.isBuiltin(specifier)) {
      question.builtin = specifier
      return callback(new Error(specifier))
    }
    const name = packageName(specifier)
    question.findPackage(specifier, request.path).then((path) => {
      const asked = { ...request, path, request: `.${specifier.slice(name.length)}` }
      resolver.doResolve(
        inPackage,
        asked,
        `Deno has it in ${path}`,
        context,
        (error, result) => callback(error, result ?? null),
      )
    }, callback)
  })
}

/** The name at the start of a bare specifier. */
export function packageName(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
}
