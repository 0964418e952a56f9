/** Expressions that describe data, as far as they are written out: literals, and chains of calls like `z.string().min(1)`. */
import { type Budget, spend } from './shape.ts'
import { at, is, type Tokens } from './tokens.ts'

/** An expression. */
export type Expression =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  | { readonly kind: 'pattern'; readonly source: string }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Expression> }
  | { readonly kind: 'chain'; readonly links: readonly Link[] }
  | { readonly kind: 'other' }

/** One name of a chain; null for one that is not called. */
export interface Link {
  readonly name: string
  readonly given: readonly Expression[] | null
}

const OTHER: Expression = { kind: 'other' }
const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null }

/** Reads the expression that begins at `index`, up to a comma or the bracket that closes around it. */
export function readExpression(
  tokens: Tokens,
  index: number,
  budget: Budget,
  depth = 0,
): { expression: Expression; next: number } {
  if (!spend(budget, depth)) return { expression: OTHER, next: index + 1 }
  const { kind, text } = at(tokens, index)
  const value = (value: string | number | boolean | null, next = index + 1) => ({
    expression: { kind: 'value', value } as const,
    next,
  })
  if (kind === 'text' || kind === 'template') return value(text)
  if (kind === 'number') return value(Number(text))
  if (kind === 'pattern') return { expression: { kind: 'pattern', source: text }, next: index + 1 }
  if (kind === 'name') {
    if (Object.hasOwn(WORDS, text)) return value(WORDS[text]!)
    if (text === 'await' || text === 'new') return readExpression(tokens, index + 1, budget, depth + 1)
    return readChain(tokens, index, budget, depth)
  }
  if (text === '-' && at(tokens, index + 1).kind === 'number') {
    return value(-Number(at(tokens, index + 1).text), index + 2)
  }
  if (text === '[') {
    const next = tokens.close.get(index)! + 1
    return { expression: { kind: 'list', items: readItems(tokens, index, budget, depth) }, next }
  }
  if (text === '{') return readObject(tokens, index, budget, depth)
  return { expression: OTHER, next: (tokens.close.get(index) ?? index) + 1 }
}

/** Goes on to the comma or the closing bracket after an expression: what else stands there is not looked at. */
function skip(tokens: Tokens, index: number): number {
  let next = index
  while (next < tokens.list.length && !/^[,)\]}]$/.test(at(tokens, next).text)) {
    next = (tokens.close.get(next) ?? next) + 1
  }
  return next
}

function readChain(tokens: Tokens, index: number, budget: Budget, depth: number) {
  const links: Link[] = []
  let next = index
  while (at(tokens, next).kind === 'name') {
    const name = at(tokens, next).text
    next++
    let given: readonly Expression[] | null = null
    if (is(tokens, next, '(')) {
      given = readItems(tokens, next, budget, depth)
      next = tokens.close.get(next)! + 1
    }
    links.push({ name, given })
    if (!is(tokens, next, '.') && !is(tokens, next, '?.')) break
    next++
  }
  return { expression: { kind: 'chain', links } as const, next: Math.max(next, index + 1) }
}

/** What stands between brackets, by commas. */
function readItems(tokens: Tokens, index: number, budget: Budget, depth: number): readonly Expression[] {
  const end = tokens.close.get(index)!
  const items: Expression[] = []
  let next = index + 1
  while (next < end && budget.left > 0) {
    const spread = is(tokens, next, '...')
    const read = readExpression(tokens, spread ? next + 1 : next, budget, depth + 1)
    const arrow = is(tokens, read.next, '=>')
    items.push(arrow || spread ? OTHER : read.expression)
    next = skip(tokens, read.next)
    if (is(tokens, next, ',')) next++
    else if (next < end) next++
  }
  return items
}

function readObject(tokens: Tokens, index: number, budget: Budget, depth: number) {
  const end = tokens.close.get(index)!
  const members = new Map<string, Expression>()
  let next = index + 1
  while (next < end && budget.left > 0) {
    const { kind, text } = at(tokens, next)
    if ((kind === 'name' || kind === 'text' || kind === 'number') && is(tokens, next + 1, ':')) {
      const read = readExpression(tokens, next + 2, budget, depth + 1)
      members.set(text, is(tokens, read.next, '=>') ? OTHER : read.expression)
      next = skip(tokens, read.next)
    } else if (kind === 'name' && (is(tokens, next + 1, ',') || next + 1 === end)) {
      members.set(text, { kind: 'chain', links: [{ name: text, given: null }] })
      next++
    } else if (text === '...') {
      const read = readExpression(tokens, next + 1, budget, depth + 1)
      next = skip(tokens, read.next)
    } else {
      next = skip(tokens, next)
    }
    if (next < end) next++
  }
  return { expression: { kind: 'object', members } as const, next: end + 1 }
}
