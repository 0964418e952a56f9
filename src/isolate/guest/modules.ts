/** What a loader gives to modules: `import.meta`, and `require` for those that make one. A bundle has no loader. */

/** As a module sees itself. */
export interface ModuleDescription {
  readonly url: string
  readonly main: boolean
  readonly filename?: string
  readonly dirname?: string
  resolve(specifier: string): string
}

type Loads = Readonly<Record<string, () => unknown>>
interface Require {
  (specifier: string): unknown
  resolve(specifier: string): string
  readonly cache: Record<string, unknown>
  readonly main: undefined
}

/** By path or URL of the module that asks: what it names in its calls of `require`. */
const known = new Map<string, Loads>()

/** The `import.meta` of the module at `url`. */
export function describeModule(url: string): ModuleDescription {
  const path = url.startsWith('file:') ? decodeURIComponent(url.slice('file://'.length)) : undefined
  return Object.assign(Object.create(null), {
    url,
    main: false,
    ...(path === undefined ? {} : { filename: path, dirname: path.slice(0, path.lastIndexOf('/')) || '/' }),
    resolve: (specifier: string) => resolveUrl(String(specifier), url),
  })
}

function resolveUrl(specifier: string, url: string): string {
  if (/^\.{0,2}\//.test(specifier)) return new URL(specifier, url).href
  if (URL.canParse(specifier)) return new URL(specifier).href
  if (getBuiltin(specifier) !== undefined) return `node:${specifier}`
  throw new TypeError(`Cannot resolve '${specifier}' from ${url}: want a path with './' in front, or a URL`)
}

/** Notes what the module at `path` may require, by specifier. */
export function rememberModules(path: string, modules: Loads): void {
  known.set(path, { ...known.get(path), ...modules })
}

/** As `createRequire` of `node:module`: of the modules of Node, and those that the bundler found in the calls of the module `from`. */
export function createRequire(from: string | URL): Require {
  const text = String(from)
  const path = text.startsWith('file:') ? decodeURIComponent(new URL(text).pathname) : text
  const find = (specifier: string): () => unknown => {
    const builtin = getBuiltin(specifier)
    if (builtin !== undefined) return () => builtin
    const load = own(known.get(path), specifier) ?? findAnywhere(specifier)
    if (load !== undefined) return load
    const message =
      `Cannot find module '${specifier}': it is not in the program, which holds what its modules ` +
      'ask for by a literal name'
    throw Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND', requireStack: [path] })
  }
  const require = (specifier: string) => find(String(specifier))()
  const resolve = (specifier: string) => {
    find(String(specifier))
    return String(specifier)
  }
  return Object.assign(require, { resolve, cache: Object.create(null), main: undefined })
}

/** The `require.resolve` of the module at `from`: of what the bundler has found there, and of all that {@link createRequire} knows. */
export function createResolve(
  from: string,
  found: Readonly<Record<string, string>>,
): (specifier: string) => string {
  const { resolve } = createRequire(from)
  return (specifier) => Object.hasOwn(found, specifier) ? found[specifier]! : resolve(specifier)
}

/** A package that any module names. */
function findAnywhere(specifier: string): (() => unknown) | undefined {
  if (specifier.startsWith('.')) return undefined
  for (const loads of known.values()) {
    const load = own(loads, specifier)
    if (load !== undefined) return load
  }
}

function own(loads: Loads | undefined, specifier: string): (() => unknown) | undefined {
  return loads !== undefined && Object.hasOwn(loads, specifier) ? loads[specifier] : undefined
}

/** A module of Node, where the runtime has them. */
function getBuiltin(specifier: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } }
  return process?.getBuiltinModule?.(specifier)
}
