/** What a handler's source tells of the requests that it takes, for warm-up requests only. */
import { findParameters, type ParameterHint } from './parameter_hints.ts'

/** Hints of one route file. */
export interface RequestHints {
  /** Query parameters that it asks for by a name that stands there, each once, 16 at most. */
  readonly query: readonly string[]
  /** What is known of their values, by name. */
  readonly parameters: ReadonlyMap<string, ParameterHint>
  /** It reads bodies in a way that takes forms. */
  readonly form: boolean
  /** Routes that an app registers by a path that stands there, each once, 16 at most: `app.get('/users/:id')`. */
  readonly routes: readonly HintedRoute[]
}

/** A route of an app inside a route file; null for all methods. */
export interface HintedRoute {
  readonly method: string | null
  /** As the app's framework has it, parameters included. */
  readonly path: string
}

/** Of a route without any. */
export const NO_HINTS: RequestHints = {
  query: [],
  parameters: new Map(),
  form: false,
  routes: [],
}

/** `ctx.get.query('name')`, `url.searchParams.get('name')` and the like. */
const QUERY = /\b(?:quer(?:y|ies)|searchParams\s*\.\s*(?:get|getAll|has))\(\s*(['"`])([\w.[\]-]{1,64})\1/g
const FORM = /\.\s*(?:body|formData|parseBody)\(/
const ROUTE = /\.\s*(get|post|put|patch|delete|all)\(\s*(['"`])(\/[^'"`\s\\$]{0,200})\2/gi
const MOST = 16

/** Looks at the text of a route file alone: a miss costs time in a first request, no more. */
export function findHints(source: string): RequestHints {
  const names = new Set<string>()
  for (const [, , name] of source.matchAll(QUERY)) {
    if (names.size < MOST) names.add(name)
  }
  return {
    query: [...names],
    parameters: findParameters(source),
    form: FORM.test(source),
    routes: findRoutes(source),
  }
}

function findRoutes(source: string): HintedRoute[] {
  const routes = new Map<string, HintedRoute>()
  for (const [, word, , path] of source.matchAll(ROUTE)) {
    const method = word.toLowerCase() === 'all' ? null : word.toUpperCase()
    if (routes.size < MOST) routes.set(`${method} ${path}`, { method, path })
  }
  return [...routes.values()]
}
