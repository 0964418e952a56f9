/** Types of TypeScript as shapes: `{ name: string; tags?: string[] }`. */
import { ANY, type Budget, type MemberShape, mergeObjects, type Shape, spend, toUnion } from './shape.ts'
import { at, is, type Tokens } from './tokens.ts'

/** What a name stands for, if the text says so; `value` for `typeof name`. */
export type Lookup = (name: string, of: 'type' | 'value', budget: Budget, depth: number) => Shape | undefined

/** A shape, and the index of what follows it. */
interface Read {
  readonly shape: Shape
  readonly next: number
}

/** Reads the type that begins at `index`. */
export function readType(
  tokens: Tokens,
  index: number,
  lookup: Lookup,
  budget: Budget,
  depth = 0,
): Read {
  const options: Shape[] = []
  let next = is(tokens, index, '|') ? index + 1 : index
  for (;;) {
    const read = readIntersection(tokens, next, lookup, budget, depth)
    options.push(read.shape)
    next = read.next
    if (!is(tokens, next, '|')) break
    next++
  }
  const known = options.filter((shape) => shape !== NOTHING)
  return { shape: toUnion(known.length === 0 ? options : known), next }
}

/** Reads an interface from behind its name: what it extends, and its members. */
export function readInterface(
  tokens: Tokens,
  index: number,
  lookup: Lookup,
  budget: Budget,
  depth: number,
): Shape {
  let next = index
  let shape: Shape = ANY
  for (let steps = 0; steps < 32 && next < tokens.list.length && !is(tokens, next, '{'); steps++) {
    const { kind, text } = at(tokens, next)
    const known = kind === 'name' && text !== 'extends' ? lookup(text, 'type', budget, depth + 1) : undefined
    if (known !== undefined) shape = mergeObjects(shape, known)
    next++
  }
  return is(tokens, next, '{')
    ? mergeObjects(shape, readMembers(tokens, next, lookup, budget, depth).shape)
    : shape
}

/** `undefined`, `void` and `never`: what a body cannot hold. */
const NOTHING: Shape = { kind: 'values', values: [] }

const KEYWORDS: Readonly<Record<string, Shape>> = {
  string: { kind: 'text' },
  number: { kind: 'number' },
  bigint: { kind: 'number', whole: true },
  boolean: { kind: 'boolean' },
  true: { kind: 'values', values: [true] },
  false: { kind: 'values', values: [false] },
  null: { kind: 'values', values: [null] },
  undefined: NOTHING,
  void: NOTHING,
  never: NOTHING,
  Date: { kind: 'text', format: 'date' },
  URL: { kind: 'text', format: 'url' },
}
const LISTS: ReadonlySet<string> = new Set(['Array', 'ReadonlyArray', 'Set', 'ReadonlySet', 'Iterable'])

function readIntersection(
  tokens: Tokens,
  index: number,
  lookup: Lookup,
  budget: Budget,
  depth: number,
): Read {
  let { shape, next } = readPostfix(tokens, index, lookup, budget, depth)
  while (is(tokens, next, '&')) {
    const more = readPostfix(tokens, next + 1, lookup, budget, depth)
    shape = mergeObjects(shape, more.shape)
    next = more.next
  }
  return { shape, next }
}

function readPostfix(tokens: Tokens, index: number, lookup: Lookup, budget: Budget, depth: number): Read {
  let { shape, next } = readPrimary(tokens, index, lookup, budget, depth)
  while (is(tokens, next, '[')) {
    const end = tokens.close.get(next)!
    shape = end === next + 1 ? { kind: 'list', item: shape } : ANY
    next = end + 1
  }
  return { shape, next }
}

function readPrimary(tokens: Tokens, index: number, lookup: Lookup, budget: Budget, depth: number): Read {
  const { kind, text } = at(tokens, index)
  if (text === '' && kind === 'sign' || !spend(budget, depth)) return { shape: ANY, next: index + 1 }
  const deeper = (from: number) => readType(tokens, from, lookup, budget, depth + 1)
  if (kind === 'text') return { shape: { kind: 'values', values: [text] }, next: index + 1 }
  if (kind === 'number') return { shape: { kind: 'values', values: [Number(text)] }, next: index + 1 }
  if (kind === 'template') return { shape: { kind: 'text' }, next: index + 1 }
  if (kind === 'sign') {
    if (text === '{') return readMembers(tokens, index, lookup, budget, depth)
    if (text === '[') return readTuple(tokens, index, deeper)
    if (text === '(') {
      const next = tokens.close.get(index)! + 1
      return is(tokens, next, '=>')
        ? { shape: ANY, next: deeper(next + 1).next }
        : { ...deeper(index + 1), next }
    }
    return { shape: ANY, next: index + 1 }
  }
  if (text === 'readonly') return readPostfix(tokens, index + 1, lookup, budget, depth + 1)
  if (text === 'keyof' || text === 'unique') return { ...deeper(index + 1), shape: { kind: 'text' } }
  if (text === 'typeof') {
    const name = at(tokens, index + 1).text
    return { shape: lookup(name, 'value', budget, depth + 1) ?? ANY, next: index + 2 }
  }
  return readName(tokens, index, lookup, budget, depth)
}

/** A name, what it is qualified by, and its arguments. */
function readName(tokens: Tokens, index: number, lookup: Lookup, budget: Budget, depth: number): Read {
  const first = at(tokens, index).text
  let name = first
  let next = index + 1
  while (is(tokens, next, '.') && at(tokens, next + 1).kind === 'name') {
    name = at(tokens, next + 1).text
    next += 2
  }
  const given: Shape[] = []
  if (is(tokens, next, '<')) {
    do {
      const read = readType(tokens, next + 1, lookup, budget, depth + 1)
      given.push(read.shape)
      next = read.next
    } while (is(tokens, next, ','))
    if (is(tokens, next, '>')) next++
  }
  return { shape: toNamed(first, name, given, () => lookup(name, 'type', budget, depth + 1)), next }
}

function toNamed(
  first: string,
  name: string,
  given: readonly Shape[],
  declared: () => Shape | undefined,
): Shape {
  // `string.email`, as arktype writes it.
  if (first === 'string' && name !== first) return { kind: 'text', format: name.toLowerCase() }
  if (first === 'number' && name !== first) return { kind: 'number', whole: name === 'integer' }
  if (name === 'Record') return { kind: 'record', item: given[1] ?? ANY }
  if (name === 'Map' || name === 'Set') return { kind: 'list', item: given[0] ?? ANY }
  if (LISTS.has(name)) return { kind: 'list', item: given[0] ?? ANY }
  if (Object.hasOwn(KEYWORDS, name)) return KEYWORDS[name]!
  const known = declared()
  // `Partial<T>`, `z.infer<typeof T>`.
  return known ?? given.find(({ kind }) => kind === 'object' || kind === 'list' || kind === 'union') ?? ANY
}

function readTuple(tokens: Tokens, index: number, deeper: (from: number) => Read): Read {
  const end = tokens.close.get(index)!
  const items: Shape[] = []
  let next = index + 1
  while (next < end && items.length < 16) {
    if (is(tokens, next, '...')) next++
    if (at(tokens, next).kind === 'name' && is(tokens, next + 1, ':')) next += 2
    else if (is(tokens, next + 1, '?') && is(tokens, next + 2, ':')) next += 3
    const read = deeper(next)
    items.push(read.shape)
    next = Math.max(read.next, next + 1)
    if (is(tokens, next, '?')) next++
    if (is(tokens, next, ',')) next++
  }
  return { shape: { kind: 'tuple', items }, next: end + 1 }
}

function readMembers(tokens: Tokens, index: number, lookup: Lookup, budget: Budget, depth: number): Read {
  const end = tokens.close.get(index)!
  const members = new Map<string, MemberShape>()
  let item: Shape | undefined
  let next = index + 1
  while (next < end && budget.left > 0) {
    const { kind, text } = at(tokens, next)
    if (text === 'readonly' && !is(tokens, next + 1, ':') && !is(tokens, next + 1, '?')) {
      next++
      continue
    }
    if (kind === 'sign') {
      // `[name: string]: T`
      const closed = text === '[' ? tokens.close.get(next)! + 1 : next + 1
      if (text === '[' && is(tokens, closed, ':')) {
        const read = readType(tokens, closed + 1, lookup, budget, depth + 1)
        item = read.shape
        next = read.next
      } else {
        next = Math.max(closed, (tokens.close.get(next) ?? 0) + 1)
      }
      continue
    }
    const optional = is(tokens, next + 1, '?')
    const colon = next + (optional ? 2 : 1)
    if (!is(tokens, colon, ':')) {
      // A method has no place in a body.
      next++
      continue
    }
    const read = readType(tokens, colon + 1, lookup, budget, depth + 1)
    members.set(text, { shape: read.shape, optional })
    next = Math.max(read.next, colon + 1)
  }
  const shape: Shape = members.size === 0 && item !== undefined
    ? { kind: 'record', item }
    : { kind: 'object', members }
  return { shape, next: end + 1 }
}
