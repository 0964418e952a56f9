/** What a handler's source tells of the values that its query parameters have, for warm-up requests only. */

/** What kind of value a parameter has. */
export type ParameterKind = 'text' | 'number' | 'date' | 'email' | 'url' | 'locale'

/** What is known of a parameter. */
export interface ParameterHint {
  readonly kind: ParameterKind
  /** Values that stand in the source: what it is compared with, or its default. Two at most. */
  readonly literals: readonly string[]
}

const NUMERIC =
  /\b(?:Number|parseInt|parseFloat)\(\s*[\w$.]{0,60}(?:query|searchParams\.get)\(\s*(['"`])([\w.[\]-]{1,64})\1/g
const LITERAL =
  /(?:query|searchParams\.get)\(\s*(['"`])([\w.[\]-]{1,64})\1\s*\)\s*(?:\?\?|\|\||[!=]==?)\s*(?:'([^'\\\n]{1,64})'|"([^"\\\n]{1,64})"|(\d[\d.]{0,15}))/g
const MOST_LITERALS = 2

/** Kinds by name, for those that the source does not show. */
const NAMES: readonly (readonly [kind: ParameterKind, name: RegExp])[] = [
  ['date', /^(?:from|to|since|until|start|end|when|day|at)$|date|time/i],
  [
    'number',
    /^(?:n|num|count|limit|page|size|offset|skip|take|max|min|width|height|year|age|amount|price|qty|quantity|days|hours|index)$/i,
  ],
  ['email', /mail/i],
  ['url', /^(?:href|link|uri)$|url$/i],
  ['locale', /^(?:lang|language|locale)$/i],
]

/** For each client of the warm-up, and for the probe: values that can be told from a user's where their kind allows. Numbers are small: work grows with them. */
const SAMPLES: Readonly<Record<Exclude<ParameterKind, 'text'>, readonly string[]>> = {
  number: ['9', '27', '6', '8.7', '62', '5'],
  date: [
    '1987-06-27',
    '1987-06-27T09:27:06Z',
    '1987-06-28',
    '1987-09-27T06:27:00+02:00',
    '1987-09-27',
    '2001-02-03',
  ],
  email: [
    'a@warmup.example',
    'b.c@warmup.example',
    'd@warmup.example',
    'e+f@warmup.example',
    'h@warmup.example',
    'g@probe.example',
  ],
  url: [
    'https://warmup.example/',
    'https://warmup.example/a?b=927687',
    'http://warmup.example:8080/#a',
    '/warmup/grüße',
    'https://warmup.example:8443/c',
    'https://probe.example/',
  ],
  locale: ['en', 'en-US', 'de', 'fr', 'es', 'it'],
}

/** What the text of a route file tells of its parameters, by name; of those of whom it tells nothing their name does. */
export function findParameters(source: string): ReadonlyMap<string, ParameterHint> {
  const kinds = new Map<string, ParameterKind>()
  for (const [, , name] of source.matchAll(NUMERIC)) kinds.set(name, 'number')
  const literals = new Map<string, string[]>()
  for (const [, , name, single, double, number] of source.matchAll(LITERAL)) {
    const known = literals.get(name) ?? []
    const value = single ?? double ?? number
    if (known.length < MOST_LITERALS && !known.includes(value)) known.push(value)
    literals.set(name, known)
    if (number !== undefined) kinds.set(name, 'number')
  }
  const names = new Set([...kinds.keys(), ...literals.keys()])
  return new Map([...names].map((name) => {
    return [name, { kind: kinds.get(name) ?? kindOf(name), literals: literals.get(name) ?? [] }]
  }))
}

/** The value that client `turn` of the warm-up gives a parameter; `text` is what it says where nothing is known. */
export function sampleValue(
  parameters: ReadonlyMap<string, ParameterHint>,
  name: string,
  turn: number,
  text: string,
): string {
  const { kind, literals } = parameters.get(name) ?? { kind: kindOf(name), literals: [] }
  const literal = literals[3 - turn]
  if (literal !== undefined) return literal
  return kind === 'text' ? text : SAMPLES[kind][turn]
}

function kindOf(name: string): ParameterKind {
  return NAMES.find(([, names]) => names.test(name))?.[0] ?? 'text'
}
