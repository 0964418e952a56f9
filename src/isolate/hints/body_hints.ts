/** What a route file's source tells of the bodies that its handlers read. */
import { readExpression } from './expression.ts'
import { type Fact, toFactShape, toObjectShape } from './facts.ts'
import { ANY, type Budget, MOST_PARTS, type Shape } from './shape.ts'
import { toSchemaShape } from './schema_shape.ts'
import { findTemplateShape } from './template_shape.ts'
import { at, is, type Tokens } from './tokens.ts'
import { type Lookup, readInterface, readType } from './type_shape.ts'

/** How a body is read: `any` is JSON or a form, by its content type. */
export type BodyRead = 'json' | 'text' | 'bytes' | 'form' | 'any'

/** A body that a handler reads. */
export interface BodyHint {
  readonly read: BodyRead
  /** Of JSON and of forms. */
  readonly shape: Shape
  /** The handler: a method, or `POST /path` of an app's route; null where the text does not say. */
  readonly handler: string | null
}

const READS: Readonly<Record<string, BodyRead>> = {
  json: 'json',
  text: 'text',
  bytes: 'bytes',
  arrayBuffer: 'bytes',
  blob: 'bytes',
  formData: 'form',
  body: 'any',
  parseBody: 'any',
  readBody: 'any',
  validator: 'any',
}
const VALIDATED: Readonly<Record<string, BodyRead | undefined>> = { json: 'json', form: 'form' }
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])
const APP_METHODS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete', 'all'])
const MOST_BODIES = 16

/** The bodies that are read, each once. */
export function findBodies(tokens: Tokens, facts: ReadonlyMap<string, Fact>): readonly BodyHint[] {
  const declared = createLookup(tokens)
  const bodies: BodyHint[] = []
  const regions = findRegions(tokens)
  const template = findTemplateShape(tokens)
  for (const [number, { handler, from, to }] of regions.entries()) {
    let schema: Shape | undefined | null = null
    for (let index = from; index < to && bodies.length < MOST_BODIES; index++) {
      const read = findRead(tokens, index)
      if (read === undefined) continue
      if (read === 'text' || read === 'bytes') {
        bodies.push({ read, shape: ANY, handler })
        continue
      }
      schema ??= declared.mentioned(from, to) ??
        (number === 0 && regions.length > 1 ? undefined : declared.last())
      const { lookup } = declared
      const typed = findTyped(tokens, index, lookup, facts)
      const used = typed.kind === 'any' || typed.kind === 'record'
        ? findFields(tokens, index, to, read, facts) ?? findUsed(tokens, index, facts)
        : ANY
      const known = [typed, schema ?? ANY, used].find(isTelling)
      const shape = known ?? (read === 'json' || read === 'any' ? template : undefined) ??
        (typed.kind === 'any' ? used : typed)
      bodies.push({ read, shape, handler })
    }
  }
  return bodies
}

function isTelling({ kind }: Shape): boolean {
  return kind !== 'any' && kind !== 'record'
}

/** `.json()`, `.json<T>()`, `readBody(event)`; undefined at what reads no body. */
function findRead(tokens: Tokens, index: number): BodyRead | undefined {
  const { kind, text } = at(tokens, index)
  if (kind !== 'name' || !Object.hasOwn(READS, text)) return undefined
  // Hono's, whose function is given the body.
  if (text === 'validator' && is(tokens, index + 1, '(')) return VALIDATED[at(tokens, index + 2).text]
  if (text === 'readBody') return /^[(<]$/.test(at(tokens, index + 1).text) ? 'any' : undefined
  if (!is(tokens, index - 1, '.')) return undefined
  const isEmpty = is(tokens, index + 1, '(') && is(tokens, index + 2, ')')
  // Of a chain of calls it may be anything: `$(row).text()`.
  if (is(tokens, index - 2, ')')) return undefined
  if (isEmpty && !/^(?:res|response|result|answer|format)$/.test(at(tokens, index - 2).text)) {
    return READS[text]
  }
  return text === 'json' && is(tokens, index + 1, '<') ? 'json' : undefined
}

/** From which word to which a handler reaches. */
interface Region {
  readonly handler: string | null
  readonly from: number
  readonly to: number
}

function findRegions(tokens: Tokens): readonly Region[] {
  const starts: { handler: string | null; from: number }[] = [{ handler: null, from: 0 }]
  for (const [index, { kind, text }] of tokens.list.entries()) {
    if (kind !== 'name') continue
    const declared = /^(?:function|const|let|var)$/.test(at(tokens, index - 1).text)
    if (declared && METHODS.has(text)) starts.push({ handler: text, from: index })
    const path = at(tokens, index + 2)
    const isRoute = APP_METHODS.has(text.toLowerCase()) && is(tokens, index - 1, '.') &&
      is(tokens, index + 1, '(')
    if (isRoute && path.kind === 'text' && path.text.startsWith('/')) {
      starts.push({ handler: `${text === 'all' ? null : text.toUpperCase()} ${path.text}`, from: index })
    }
  }
  return starts.map(({ handler, from }, index) => ({
    handler,
    from,
    to: starts[index + 1]?.from ?? tokens.list.length,
  }))
}

/** What stands before `await ctx.get.json()`, and after it. */
function findTyped(
  tokens: Tokens,
  index: number,
  lookup: Lookup,
  facts: ReadonlyMap<string, Fact>,
): Shape {
  const budget = { left: MOST_PARTS }
  const of = (from: number) => readType(tokens, from, lookup, budget).shape
  if (is(tokens, index + 1, '<')) return refine(of(index + 2), facts)
  let after = index + 3
  while (is(tokens, after, ')')) after++
  if (is(tokens, after, 'as') || is(tokens, after, 'satisfies')) return refine(of(after + 1), facts)
  const { annotation } = findTarget(tokens, index)
  return annotation === undefined ? ANY : refine(of(annotation), facts)
}

/** Puts what the text compares a member with where its type says `string` alone. */
function refine(shape: Shape, facts: ReadonlyMap<string, Fact>): Shape {
  if (shape.kind === 'list') return { ...shape, item: refine(shape.item, facts) }
  if (shape.kind !== 'object') return shape
  const members = [...shape.members].map(([name, member]) => {
    const own = toFactShape(facts, name)
    const isText = member.shape.kind === 'text' && own.kind === 'values' && typeof own.values[0] === 'string'
    const known = isText || (member.shape.kind === 'any' && own.kind !== 'any')
      ? own
      : refine(member.shape, facts)
    return [name, { ...member, shape: known }] as const
  })
  return { kind: 'object', members: new Map(members) }
}

/** What becomes of a body without a type: the names that it is taken apart into, or the members that are read of it. */
function findUsed(tokens: Tokens, index: number, facts: ReadonlyMap<string, Fact>): Shape {
  if (is(tokens, index, 'validator')) return toFactShape(facts, at(tokens, index + 5).text)
  const { name, names, list, record } = findTarget(tokens, index)
  if (names !== undefined) return toObjectShape(facts, names)
  if (list) return { kind: 'list', item: ANY }
  if (record) return { kind: 'record', item: ANY }
  return name === undefined ? ANY : toFactShape(facts, name)
}

const FIELD_CALLS = /^(?:get|getAll|has)$/
const MOST_FIELDS = 24

/** The fields that are asked of a form by their names up to a word: `form.get('name')`; undefined where there are none. */
function findFields(
  tokens: Tokens,
  index: number,
  to: number,
  read: BodyRead,
  facts: ReadonlyMap<string, Fact>,
): Shape | undefined {
  if (read !== 'form') return undefined
  const fields = new Set<string>()
  const add = (dot: number) => {
    const isAsked = is(tokens, dot, '.') && FIELD_CALLS.test(at(tokens, dot + 1).text) &&
      is(tokens, dot + 2, '(')
    const { kind, text } = at(tokens, dot + 3)
    if (isAsked && kind === 'text' && fields.size < MOST_FIELDS) fields.add(text)
  }
  // `(await ctx.get.formData()).get('name')`
  if (is(tokens, index + 3, ')')) add(index + 4)
  const { name } = findTarget(tokens, index)
  for (let next = index + 3; name !== undefined && next < to; next++) {
    if (is(tokens, next, name) && !is(tokens, next - 1, '.')) add(next + 1)
  }
  return fields.size === 0 ? undefined : toObjectShape(facts, [...fields])
}

/** What a body goes to: a name or a pattern, and where its type stands. */
interface Target {
  readonly name?: string
  readonly names?: readonly string[]
  readonly list?: boolean
  /** A loop goes over its members. */
  readonly record?: boolean
  readonly annotation?: number
}

/** Steps back over `= await (ctx.get`, and over the calls around it, in one statement. */
const STEPS_BACK = 40

function findTarget(tokens: Tokens, index: number): Target {
  let before = index - 1
  let record = false
  for (let steps = 0; steps < STEPS_BACK && before > 0; steps++, before--) {
    const { kind, text } = at(tokens, before)
    if (kind === 'sign' && !/^(?:[.(]|\?\.)$/.test(text)) break
    if (kind === 'name' && /^(?:of|return|const|let|var)$/.test(text)) break
    if (kind !== 'sign' && kind !== 'name') break
    // `Object.entries(await ctx.get.json())`
    if (text === 'Object') record = /^(?:entries|keys|values)$/.test(at(tokens, before + 2).text)
  }
  if (is(tokens, before, 'of')) return record ? { record } : { list: true }
  if (!is(tokens, before, '=')) return {}
  const start = findDeclaration(tokens, before)
  if (start === undefined) return {}
  const open = tokens.close.get(start)
  const colon = (open ?? start) + 1
  const annotation = is(tokens, colon, ':') ? { annotation: colon + 1 } : {}
  if (is(tokens, start, '[')) return { list: true, ...annotation }
  if (!is(tokens, start, '{')) return { name: at(tokens, start).text, ...annotation }
  return { names: destructured(tokens, start), ...annotation }
}

/** The word behind `const`, where the assignment at `index` is a declaration. */
function findDeclaration(tokens: Tokens, index: number): number | undefined {
  for (let before = index - 1, steps = 0; before >= 0 && steps < 120; before--, steps++) {
    if (/^(?:const|let|var)$/.test(at(tokens, before).text)) return before + 1
    if (is(tokens, before, ';')) return undefined
  }
  return undefined
}

/** The names of `{ a, b: c, d = 1 }`, without the rest. */
export function destructured(tokens: Tokens, open: number): string[] {
  const end = tokens.close.get(open)!
  const names: string[] = []
  for (let next = open + 1; next < end && names.length < 24; next++) {
    const { kind, text } = at(tokens, next)
    if (kind === 'name' || kind === 'text') names.push(text)
    else if (text === '...') next++
    while (next < end && !is(tokens, next, ',')) next = (tokens.close.get(next) ?? next) + 1
  }
  return names
}

/** What names stand for in this text. */
interface Declared {
  readonly lookup: Lookup
  /** The first schema that is named, or stands, between two words. */
  mentioned(from: number, to: number): Shape | undefined
  /** The last schema of the text: what it consists of stands before it. */
  last(): Shape | undefined
}

function createLookup(tokens: Tokens): Declared {
  const types = new Map<string, number>()
  const values = new Map<string, number>()
  for (const [index, { kind, text }] of tokens.list.entries()) {
    if (kind !== 'name') continue
    const name = at(tokens, index + 1)
    if (name.kind !== 'name') continue
    if (text === 'interface') types.set(name.text, index + 2)
    if (text === 'type' && /^[=<]$/.test(at(tokens, index + 2).text)) types.set(name.text, index + 2)
    if (text === 'const') {
      let value = index + 2
      for (let steps = 0; steps < 16 && !is(tokens, value, '='); steps++) value++
      const { kind: first, text: sign } = at(tokens, value + 1)
      if (is(tokens, value, '=') && (first === 'name' || sign === '{')) values.set(name.text, value + 1)
    }
  }
  const open = new Set<string>()
  const known = new Map<string, Shape | undefined>()
  const lookup: Lookup = (name, of, budget, depth) => {
    const from = (of === 'type' ? types : values).get(name)
    const key = `${of} ${name}`
    // A thing that holds itself ends at the second level.
    if (from === undefined || open.has(key)) return undefined
    if (known.has(key)) return known.get(key)
    open.add(key)
    const shape = of === 'type' ? readDeclared(from, budget, depth) : readSchema(from, budget, depth)
    open.delete(key)
    known.set(key, shape)
    return shape
  }
  function readDeclared(from: number, budget: Budget, depth: number): Shape {
    if (!is(tokens, from, '=')) return readInterface(tokens, from, lookup, budget, depth)
    return readType(tokens, from + 1, lookup, budget, depth).shape
  }
  function readSchema(from: number, budget: Budget, depth: number): Shape | undefined {
    const { expression } = readExpression(tokens, from, { left: MOST_PARTS }, depth)
    return toSchemaShape(expression, lookup, budget, depth)
  }
  const schemaOf = (name: string) => {
    const shape = lookup(name, 'value', { left: MOST_PARTS }, 0)
    return shape !== undefined && isWhole(shape) ? shape : undefined
  }
  return {
    lookup,
    mentioned(from, to) {
      for (let index = from; index < to; index++) {
        const { kind, text } = at(tokens, index)
        if (kind !== 'name' || is(tokens, index - 1, '.')) continue
        const named = values.has(text) ? schemaOf(text) : undefined
        if (named !== undefined) return named
        const inPlace = is(tokens, index + 1, '.') &&
          /^(?:strict|loose)?object$/i.test(at(tokens, index + 2).text)
        const shape = inPlace ? readSchema(index, { left: MOST_PARTS }, 0) : undefined
        if (shape !== undefined && isWhole(shape)) return shape
      }
      return undefined
    },
    last() {
      return [...values.keys()].reverse().map(schemaOf).find((shape) => shape !== undefined)
    },
  }
}

/** Whether a body may be of this shape by itself. */
function isWhole({ kind }: Shape): boolean {
  return kind === 'object' || kind === 'list' || kind === 'union' || kind === 'tuple'
}
