/** What a handler's source tells of the requests that it takes, for warm-up requests only. */

/** Hints of one route file. */
export interface RequestHints {
  /** Query parameters that it asks for by a name that stands there, each once, 16 at most. */
  readonly query: readonly string[]
  /** It reads bodies in a way that takes forms. */
  readonly form: boolean
}

/** Of a route without any. */
export const NO_HINTS: RequestHints = { query: [], form: false }

/** `ctx.get.query('name')`, `url.searchParams.get('name')` and the like. */
const QUERY = /\b(?:quer(?:y|ies)|searchParams\s*\.\s*(?:get|getAll|has))\(\s*(['"`])([\w.[\]-]{1,64})\1/g
const FORM = /\.\s*(?:body|formData|parseBody)\(/
const MOST = 16

/** Looks at the text of a route file alone: a miss costs time in a first request, no more. */
export function findHints(source: string): RequestHints {
  const names = new Set<string>()
  for (const [, , name] of source.matchAll(QUERY)) {
    if (names.size < MOST) names.add(name)
  }
  return { query: [...names], form: FORM.test(source) }
}
