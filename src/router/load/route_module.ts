import { isMethod, type Method, METHODS } from '../match/methods.ts'
import { toFileUrl } from '@std/path'
import { nearName } from '../../text/near_name.ts'
import { NO_READINGS, type Readings } from '../../compiler/readings.ts'
import { HOOK } from '../../compiler/hook.ts'
import { mayBeIsolated, readExports } from './isolated.ts'
import { placeOf, placeOfName, reasonOf, RouteLoadError } from './load_error.ts'

/** A handler, middleware or error hook. This room never calls one and so does not know its arguments. */
// deno-lint-ignore no-explicit-any
export type RouteFunction = (...args: any[]) => unknown

/** What one route file gives. */
export interface RouteModule {
  /** Exported methods, sorted; for an isolated route too. */
  readonly methods: readonly Method[]
  /** The functions by method, null prototype; empty for an isolated route. */
  readonly handlers: Readonly<Partial<Record<Method, RouteFunction>>>
  /** The default export has `fetch`: it takes all methods at and below the pattern. */
  readonly mount: boolean
  /** The bound `fetch` of the default export; null without one and for an isolated route. */
  readonly fetch: RouteFunction | null
  /** The route runs in a VM only and was not imported. */
  readonly isolated: boolean
  /** What the file exports and the router leaves out, each with the remedy. */
  readonly notes: readonly string[]
}

/** Methods that exist elsewhere, unlike helpers that a file may export. */
const FOREIGN = new Set([
  'CONNECT',
  'TRACE',
  'COPY',
  'LOCK',
  'MKCOL',
  'MOVE',
  'PROPFIND',
  'PROPPATCH',
  'UNLOCK',
  'QUERY',
])

/**
 * Loads a route file: `file` is its name for people, `path` its absolute path.
 *
 * A file that exports `isolated` is read, never imported. Throws `RouteLoadError`.
 */
export async function loadRouteModule(
  file: string,
  path: string,
  readings: Readings = NO_READINGS,
): Promise<RouteModule> {
  const source = await readSource(file, path)
  if (mayBeIsolated(source)) {
    const read = () => readExports(path, source)
    const exports = await readings.of('exports', path, source, read).catch((error) => {
      throw failure(file, error)
    })
    if (exports.isolated) {
      const { methods, hasDefault, hasProgram, names } = exports
      if (hasProgram && (hasDefault || methods.length > 0)) {
        const other = methods[0] ?? 'default'
        throw new RouteLoadError(
          file,
          `it exports ${other} beside isolated.program, wanted one of them: the program answers in place of handlers`,
          { place: placeOfName(source, path, other) },
        )
      }
      const notes = names.filter((name) => name !== HOOK).map(noteOf).filter((note) => note !== null)
      return { methods, handlers: {}, mount: hasDefault || hasProgram, fetch: null, isolated: true, notes }
    }
  }
  const namespace = await importModule(file, path)
  if (namespace.isolated) {
    throw new RouteLoadError(
      file,
      `its 'isolated' comes from another module, wanted 'export const isolated = true' in the file itself: the router must see it before it runs the file`,
      { place: placeOfName(source, path, 'isolated') },
    )
  }
  return toRouteModule(file, path, source, namespace)
}

/** The middleware that a `_middleware` file exports by default. Throws `RouteLoadError`. */
export async function loadMiddleware(file: string, path: string): Promise<RouteFunction[]> {
  const { default: value } = await importModule(file, path)
  const list = Array.isArray(value) ? value : [value]
  if (list.length > 0 && list.every((item) => typeof item === 'function')) return list as RouteFunction[]
  throw new RouteLoadError(
    file,
    `its default export is ${kindOf(value)}, wanted a middleware function or an array of them`,
  )
}

/** The error hook that an `_error` file exports by default. Throws `RouteLoadError`. */
export async function loadErrorHandler(file: string, path: string): Promise<RouteFunction> {
  const { default: value } = await importModule(file, path)
  if (typeof value === 'function') return value as RouteFunction
  throw new RouteLoadError(
    file,
    `its default export is ${kindOf(value)}, wanted a function (ctx, { status, error })`,
  )
}

async function readSource(file: string, path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path)
  } catch (error) {
    throw failure(file, error)
  }
}

async function importModule(file: string, path: string): Promise<Record<string, unknown>> {
  try {
    return await import(toFileUrl(path).href)
  } catch (error) {
    throw failure(file, error)
  }
}

function failure(file: string, error: unknown): RouteLoadError {
  return new RouteLoadError(file, reasonOf(error), { cause: error, place: placeOf(error) })
}

function toRouteModule(
  file: string,
  path: string,
  source: string,
  namespace: Record<string, unknown>,
): RouteModule {
  const handlers: Partial<Record<Method, RouteFunction>> = Object.create(null)
  const notes: string[] = []
  for (const [name, value] of Object.entries(namespace)) {
    if (isMethod(name)) {
      if (typeof value !== 'function') {
        const place = placeOfName(source, path, name)
        throw new RouteLoadError(file, `its export ${name} is ${kindOf(value)}, wanted a function`, { place })
      }
      handlers[name] = value as RouteFunction
    } else {
      const note = noteOf(name)
      if (note !== null) notes.push(note)
    }
  }
  const fetch = fetchOf(namespace.default)
  const methods = METHODS.filter((method) => handlers[method] !== undefined)
  if (fetch === null && namespace.default !== undefined) notes.push(noteOfDefault(namespace.default))
  if (methods.length === 0 && fetch === null && notes.length === 0) {
    notes.push(
      `no handler, wanted an exported function named ${
        METHODS.join(' ')
      }, or a default export with fetch(request)`,
    )
  }
  return { methods, handlers, mount: fetch !== null, fetch, isolated: false, notes }
}

/** What an export that the router does not know should be, or null for one that it knows. */
function noteOf(name: string): string | null {
  if (name === 'default' || name === 'isolated' || isMethod(name)) return null
  const upper = name.toUpperCase()
  if (isMethod(upper)) return `export '${name}' is not a method, wanted '${upper}' in capitals`
  if (FOREIGN.has(upper)) return `export '${name}' is not served, wanted one of ${METHODS.join(' ')}`
  const near = nearName(name, [...METHODS, 'isolated'])
  if (near !== undefined) return `export '${name}' means nothing here, did you mean '${near}'`
  return `export '${name}' means nothing here, wanted ${
    METHODS.join(' ')
  }, 'isolated' or an app by default: ` +
    `what other modules import belongs outside of the routes, or into a file or folder whose name begins with '_'`
}

function noteOfDefault(value: unknown): string {
  const wanted = `wanted 'export function GET(ctx)', or an app with fetch(request)`
  if (typeof value === 'function') return `its default export is a function that nobody calls, ${wanted}`
  return `its default export is ${kindOf(value)}, ${wanted}`
}

/** An app may be an object or, as some are, a function with a `fetch`. */
function fetchOf(value: unknown): RouteFunction | null {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return null
  const app = value as { fetch?: unknown }
  return typeof app.fetch === 'function' ? app.fetch.bind(app) : null
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? `an array of ${value.length}` : `a value of type ${typeof value}`
}
