/** What a handler's source tells of the requests that it takes, for warm-up requests only. */
import { type BodyHint, findBodies } from './body_hints.ts'
import { findByteSamples } from './byte_samples.ts'
import { findFacts } from './facts.ts'
import { findQueryNames } from './query_hints.ts'
import { findTextKinds } from './text_kinds.ts'
import type { TextKind } from './text_samples.ts'
import { LONGEST_SOURCE, toTokens } from './tokens.ts'
import { findParameters, type ParameterHint } from './parameter_hints.ts'

/** Hints of one route file. */
export interface RequestHints {
  /** Query parameters that it asks for by a name that stands there, each once, 16 at most. */
  readonly query: readonly string[]
  /** What is known of their values, by name. */
  readonly parameters: ReadonlyMap<string, ParameterHint>
  /** It looks at the query as a text of its own. */
  readonly search: boolean
  /** Bodies that it reads. */
  readonly bodies: readonly BodyHint[]
  /** Kinds of text that it works on; never empty. */
  readonly texts: readonly TextKind[]
  /** Files that it may read as bytes, base64. */
  readonly bytes: readonly string[]
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
  search: false,
  bodies: [],
  texts: ['prose'],
  bytes: [],
  routes: [],
}

const ROUTE = /\.\s*(get|post|put|patch|delete|all)\(\s*(['"`])(\/[^'"`\s\\$]{0,200})\2/gi
const MOST = 16

/** Looks at the text of a route file alone: a miss costs time in a first request, no more. Takes time that grows with its length. */
export function findHints(text: string, jsx = false): RequestHints {
  const source = text.slice(0, LONGEST_SOURCE)
  const tokens = toTokens(source, jsx)
  const facts = findFacts(tokens)
  const query = findQueryNames(tokens)
  return {
    query,
    parameters: findParameters(source, facts, query),
    search: tokens.list.some(({ kind, text }) => kind === 'name' && text === 'search'),
    bodies: findBodies(tokens, facts),
    texts: findTextKinds(tokens),
    bytes: findByteSamples(tokens),
    routes: findRoutes(source),
  }
}

function findRoutes(source: string): HintedRoute[] {
  const routes = new Map<string, HintedRoute>()
  for (const [, word, , path] of source.matchAll(ROUTE)) {
    const method = word!.toLowerCase() === 'all' ? null : word!.toUpperCase()
    if (routes.size < MOST) routes.set(`${method} ${path}`, { method, path: path! })
  }
  return [...routes.values()]
}
