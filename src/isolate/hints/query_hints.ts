/** Names of the query parameters that a source asks for. */
import { destructured } from './body_hints.ts'
import { at, is, type Tokens } from './tokens.ts'

const MOST = 16
/** Words back from `query(name)` to the list of names. */
const STEPS_BACK = 40

/**
 * Each once, 16 at most: `ctx.get.query('name')`, `url.searchParams.get('name')`, `const { name } = ctx.get.query()`,
 * `['a', 'b'].map((name) => ctx.get.query(name))`, `request.query.name`, `getQuery(event).name`.
 */
export function findQueryNames(tokens: Tokens): readonly string[] {
  const names = new Set<string>()
  const add = (name: string) => {
    if (names.size < MOST && /^[\w.[\]-]{1,64}$/.test(name)) names.add(name)
  }
  for (const [index, { kind, text }] of tokens.list.entries()) {
    if (kind !== 'name') continue
    if (text === 'getQuery' && at(tokens, index + 2).kind === 'name' && is(tokens, index + 3, ')')) {
      const isMember = is(tokens, index + 4, '.') && at(tokens, index + 5).kind === 'name'
      if (isMember) add(at(tokens, index + 5).text)
      else takenApart(tokens, index).forEach(add)
      continue
    }
    const open = openOf(tokens, index, text)
    if (open === undefined) {
      if (text === 'query' && is(tokens, index + 1, '.') && at(tokens, index + 2).kind === 'name') {
        if (!is(tokens, index + 3, '(')) add(at(tokens, index + 2).text)
      }
      continue
    }
    const given = at(tokens, open + 1)
    if (given.kind === 'text' || (given.kind === 'template' && is(tokens, open + 2, ')'))) add(given.text)
    else if (given.kind === 'name' && is(tokens, open + 2, ')')) namesBefore(tokens, index).forEach(add)
    else if (is(tokens, open + 1, ')')) takenApart(tokens, index).forEach(add)
  }
  return [...names]
}

/** The bracket of a call that asks for a parameter. */
function openOf(tokens: Tokens, index: number, text: string): number | undefined {
  if (text === 'query' || text === 'queries') return is(tokens, index + 1, '(') ? index + 1 : undefined
  const isGet = text === 'searchParams' && is(tokens, index + 1, '.') &&
    /^(?:get|getAll|has)$/.test(at(tokens, index + 2).text)
  return isGet && is(tokens, index + 3, '(') ? index + 3 : undefined
}

/** The texts of the list that the parameter of the function goes over. */
function namesBefore(tokens: Tokens, index: number): readonly string[] {
  for (let before = index; before > Math.max(0, index - STEPS_BACK); before--) {
    if (!is(tokens, before, ']')) continue
    const names: string[] = []
    for (let item = before - 1; at(tokens, item).kind === 'text'; item -= 2) {
      names.unshift(at(tokens, item).text)
      if (!is(tokens, item - 1, ',')) break
    }
    return names
  }
  return []
}

/** The names of `const { a, b = 1 } = ctx.get.query()`. */
function takenApart(tokens: Tokens, index: number): readonly string[] {
  let before = index
  while (/^(?:\w+|\.|\?\.)$/.test(at(tokens, before).text)) before--
  if (!is(tokens, before, '=') || !is(tokens, before - 1, '}')) return []
  for (let open = before - 2; open > before - 120 && open >= 0; open--) {
    if (tokens.close.get(open) === before - 1) return destructured(tokens, open)
  }
  return []
}
