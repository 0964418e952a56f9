/** What a source text does with the things it names: `items.map(...)` says that items is a list, whatever its scope. */
import { ANY, type Shape, toUnion } from './shape.ts'
import { at, is, type Tokens } from './tokens.ts'

/** What is known of all things of one name. */
export interface Fact {
  readonly kinds: ReadonlySet<Kind>
  /** Texts and numbers that it is compared with, has as its default, or is the key of. */
  readonly literals: ReadonlySet<string | number>
  /** Members that are read. */
  readonly members: ReadonlySet<string>
}

type Kind = 'list' | 'text' | 'number' | 'date'

const LIST_CALLS: ReadonlySet<string> = new Set(
  'map filter forEach reduce flatMap some every find findIndex findLast push sort toSorted join entries flat'
    .split(' '),
)
const TEXT_CALLS: ReadonlySet<string> = new Set(
  'trim toUpperCase toLowerCase split replace replaceAll startsWith endsWith match matchAll charAt charCodeAt padStart padEnd normalize localeCompare substring'
    .split(' '),
)
const NUMBER_CALLS: ReadonlySet<string> = new Set(['toFixed', 'toPrecision'])
const TO_NUMBER: ReadonlySet<string> = new Set([
  'Number',
  'parseInt',
  'parseFloat',
  'Decimal',
  'BigNumber',
  'Big',
  'BigInt',
])
/** `new Date(x)`, `Date.parse(x)`, and what libraries call it. */
const TO_DATE = /^(?:Date|parseISO|fromISO|toDate)$/
const ARITHMETIC: ReadonlySet<string> = new Set(['*', '-', '/', '**', '<', '>', '<=', '>=', '%', '++', '--'])
const EQUAL: ReadonlySet<string> = new Set(['===', '!==', '==', '!=', '??', '||', '='])
const MOST_LITERALS = 8
const MOST_MEMBERS = 24

interface OpenFact extends Fact {
  readonly kinds: Set<Kind>
  readonly literals: Set<string | number>
  readonly members: Set<string>
}

/** Goes over the text once. */
export function findFacts(tokens: Tokens): ReadonlyMap<string, Fact> {
  const facts = new Map<string, OpenFact>()
  const of = (name: string) => {
    const fact = facts.get(name) ?? { kinds: new Set(), literals: new Set(), members: new Set() }
    facts.set(name, fact)
    return fact
  }
  const keys = findKeys(tokens)
  for (const [index, { kind, text }] of tokens.list.entries()) {
    if (kind !== 'name') continue
    lookBehind(tokens, index, of(text))
    lookBefore(tokens, index, of(text), keys)
    if (is(tokens, index + 1, '(')) {
      const given = findGiven(tokens, index + 2)
      if (given !== undefined && TO_NUMBER.has(text)) of(given).kinds.add('number')
      else if (given !== undefined && TO_DATE.test(text)) of(given).kinds.add('date')
    }
  }
  return facts
}

/** What follows a name. */
function lookBehind(tokens: Tokens, index: number, { kinds, literals, members }: OpenFact): void {
  const next = at(tokens, index + 1)
  if (next.kind !== 'sign') return
  const after = at(tokens, index + 2)
  if (next.text === '.' || next.text === '?.') {
    if (after.kind !== 'name') return
    if (!is(tokens, index + 3, '(')) {
      if (after.text !== 'length' && members.size < MOST_MEMBERS) members.add(after.text)
    } else if (LIST_CALLS.has(after.text)) kinds.add('list')
    else if (TEXT_CALLS.has(after.text)) kinds.add('text')
    else if (NUMBER_CALLS.has(after.text)) kinds.add('number')
  } else if (EQUAL.has(next.text)) {
    if (literals.size === MOST_LITERALS) return
    if (after.kind === 'text' && after.text !== '') literals.add(after.text)
    if (after.kind === 'number') literals.add(Number(after.text))
    if (is(tokens, index + 2, '[')) kinds.add('list')
  } else if (ARITHMETIC.has(next.text)) {
    kinds.add('number')
  }
}

/** What stands before a name. */
function lookBefore(
  tokens: Tokens,
  index: number,
  { kinds, literals }: OpenFact,
  keys: ReadonlyMap<string, readonly string[]>,
): void {
  const [before, last] = [at(tokens, index - 2), at(tokens, index - 1)]
  if (last.kind === 'name' && last.text === 'of') kinds.add('list')
  if (last.kind !== 'sign') return
  if (last.text === '[' && is(tokens, index + 1, ']')) {
    for (const key of keys.get(before.text) ?? []) if (literals.size < MOST_LITERALS) literals.add(key)
  }
  // `a - name`: of `<` and `>` it may be a type.
  if (/^(?:\*|-|\/|%|<=|>=)$/.test(last.text) && before.kind === 'name') kinds.add('number')
}

/** The last name of the chain that a call is given, of `body.n` that is `n`; undefined where it is given something else. */
function findGiven(tokens: Tokens, index: number): string | undefined {
  let last = index
  while (at(tokens, last).kind === 'name' && /^\??\.$/.test(at(tokens, last + 1).text)) last += 2
  const isEnd = /^(?:[),]|\?\?|\|\|)$/.test(at(tokens, last + 1).text)
  return at(tokens, last).kind === 'name' && isEnd ? at(tokens, last).text : undefined
}

/** Keys of objects that have a name: `const TEXTS = { en: ..., de: ... }`. */
function findKeys(tokens: Tokens): ReadonlyMap<string, readonly string[]> {
  const keys = new Map<string, readonly string[]>()
  for (const [index, { text, kind }] of tokens.list.entries()) {
    if (kind !== 'name' || text !== 'const') continue
    const name = at(tokens, index + 1).text
    let open = index + 2
    // Behind its type, if it has a short one.
    for (let steps = 0; steps < 16 && open < tokens.list.length && !is(tokens, open, '='); steps++) open++
    if (!is(tokens, ++open, '{')) continue
    const end = tokens.close.get(open)!
    const own: string[] = []
    for (let next = open + 1; next < end && own.length < MOST_LITERALS; next++) {
      if (/^(?:name|text)$/.test(at(tokens, next).kind) && is(tokens, next + 1, ':')) {
        own.push(at(tokens, next).text)
      }
      while (next < end && !is(tokens, next, ',')) next = (tokens.close.get(next) ?? next) + 1
    }
    keys.set(name, own)
  }
  return keys
}

/** The shape of what has this name. */
export function toFactShape(facts: ReadonlyMap<string, Fact>, name: string, depth = 0): Shape {
  const fact = facts.get(name)
  if (fact === undefined || depth > 3) return ANY
  const { kinds, literals, members } = fact
  if (kinds.has('list')) return { kind: 'list', item: ANY }
  if (literals.size > 0) return toUnion([{ kind: 'values', values: [...literals] }])
  if (kinds.has('date')) return { kind: 'text', format: 'date' }
  if (kinds.has('text')) return { kind: 'text' }
  if (kinds.has('number')) return { kind: 'number' }
  return members.size === 0 ? ANY : toObjectShape(facts, [...members], depth)
}

/** An object of members of whom the text tells what it tells of their names. */
export function toObjectShape(facts: ReadonlyMap<string, Fact>, names: readonly string[], depth = 0): Shape {
  return {
    kind: 'object',
    members: new Map(
      names.map((name) => [name, { shape: toFactShape(facts, name, depth + 1), optional: false }]),
    ),
  }
}
