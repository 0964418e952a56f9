/**
 * Schemas as shapes. What libraries call the kinds of values is much the same in all of them:
 *
 * ```text
 * z.object({ name: z.string().min(1), role: z.enum(['user', 'admin']).optional() })    calls and what they are chained to
 * { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }        JSON Schema, and Avro's records
 * type({ name: 'string', 'tags?': 'string[]' })                                        types as text
 * ```
 */
import type { Expression, Link } from './expression.ts'
import {
  ANY,
  type Budget,
  type MemberShape,
  type NumberShape,
  type Shape,
  spend,
  type TextShape,
  toUnion,
} from './shape.ts'
import { toTokens } from './tokens.ts'
import { type Lookup, readType } from './type_shape.ts'

/** The shape that an expression describes; undefined for what is no schema. */
export function toSchemaShape(
  expression: Expression,
  lookup: Lookup,
  budget: Budget,
  depth = 0,
): Shape | undefined {
  return toMember(expression, lookup, budget, depth)?.shape
}

/** A shape, and whether it may be missing; undefined for a member whose schema does not say. */
interface Schema {
  readonly shape: Shape
  readonly optional: boolean
  /** It says that it may not be missing: in its object only such members may not. */
  readonly required: boolean
}

function toMember(
  expression: Expression,
  lookup: Lookup,
  budget: Budget,
  depth: number,
): Schema | undefined {
  if (!spend(budget, depth)) return undefined
  if (expression.kind === 'chain') return fromChain(expression.links, lookup, budget, depth)
  const shape = expression.kind === 'object'
    ? fromJsonSchema(expression.members, lookup, budget, depth)
    : undefined
  return shape === undefined ? undefined : { shape, optional: false, required: false }
}

/** What a call of this name makes of what it is given. */
type Builder = (
  given: readonly Expression[],
  shapes: () => readonly Shape[],
  lookup: Lookup,
  budget: Budget,
) =>
  | Shape
  | undefined

const text = (format?: string): Builder => () => ({
  kind: 'text',
  ...(format === undefined ? {} : { format }),
})
const number = (whole: boolean): Builder => () => ({ kind: 'number', whole })
const list: Builder = (_, shapes) => ({ kind: 'list', item: shapes()[0] ?? ANY })
const inner: Builder = (_, shapes) => shapes()[0] ?? ANY
const values: Builder = (given) => {
  const all = given.flatMap(valuesOf)
  return all.length === 0 ? undefined : { kind: 'values', values: all }
}
const union: Builder = (given, shapes) => {
  const own = shapes()
  return own.length > 0 ? toUnion(own) : values(given, shapes, () => undefined, { left: 0 })
}

const BUILDERS: Readonly<Record<string, Builder>> = {
  string: text(),
  number: number(false),
  float: number(false),
  int: number(true),
  integer: number(true),
  bigint: number(true),
  boolean: () => ({ kind: 'boolean' }),
  bool: () => ({ kind: 'boolean' }),
  email: text('email'),
  url: text('url'),
  uri: text('url'),
  uuid: text('uuid'),
  guid: text('uuid'),
  date: text('date'),
  datetime: text('datetime'),
  isodate: text('date'),
  time: text('time'),
  array: list,
  list,
  set: list,
  tuple: (_, shapes) => ({ kind: 'tuple', items: shapes() }),
  record: (_, shapes) => ({ kind: 'record', item: shapes().at(-1) ?? ANY }),
  enum: values,
  nativeenum: values,
  picklist: values,
  literal: values,
  valid: values,
  oneof: values,
  union,
  variant: union,
  discriminatedunion: union,
  alternatives: union,
  optional: inner,
  nullable: inner,
  nullish: inner,
  partial: inner,
  pipe: inner,
  unknown: () => ANY,
  any: () => ANY,
  mixed: () => ANY,
}

const OBJECTS: ReadonlySet<string> = new Set(['object', 'strictobject', 'looseobject', 'type', 'shape'])
const OPTIONAL: ReadonlySet<string> = new Set(['optional', 'nullish', 'exactoptional', 'default', 'prefault'])
const FORMATS: ReadonlySet<string> = new Set([
  'email',
  'url',
  'uri',
  'uuid',
  'guid',
  'datetime',
  'date',
  'time',
  'iso',
  'ip',
])

function fromChain(
  links: readonly Link[],
  lookup: Lookup,
  budget: Budget,
  depth: number,
): Schema | undefined {
  const [first] = links
  const known = first!.given === null ? lookup(first!.name, 'value', budget, depth + 1) : undefined
  let schema: Schema | undefined = known === undefined
    ? undefined
    : { shape: known, optional: false, required: false }
  for (const { name, given } of links) {
    if (given === null) continue
    schema = schema === undefined
      ? build(name, given, lookup, budget, depth)
      : modify(schema, name, given, lookup, budget, depth)
  }
  return schema
}

function build(
  name: string,
  given: readonly Expression[],
  lookup: Lookup,
  budget: Budget,
  depth: number,
): Schema | undefined {
  const word = name.toLowerCase()
  const optional = OPTIONAL.has(word)
  const shapes = () =>
    given.flatMap((each) => each.kind === 'list' ? each.items : [each]).flatMap((each) =>
      toMember(each, lookup, budget, depth + 1)?.shape ?? []
    )
  if (OBJECTS.has(word)) {
    const [members] = given
    const shape = members?.kind === 'object'
      ? toObject(members.members, lookup, budget, depth, word === 'type')
      : given.length === 0
      ? { kind: 'object', members: new Map() } as const
      : word === 'type'
      ? fromText(members!, lookup, budget)
      : undefined
    return shape === undefined ? undefined : { shape, optional, required: false }
  }
  const shape = Object.hasOwn(BUILDERS, word) ? BUILDERS[word]!(given, shapes, lookup, budget) : shapes()[0]
  if (shape === undefined) return undefined
  let schema: Schema = { shape, optional, required: false }
  // `v.pipe(v.string(), v.email())`
  if (word === 'pipe') {
    for (const each of given.slice(1)) {
      const last = each.kind === 'chain' ? each.links.at(-1)! : undefined
      if (last?.given != null) schema = modify(schema, last.name, last.given, lookup, budget, depth)
    }
  }
  // `Type.String({ minLength: 1 })`
  const more = given.at(-1)
  if (more?.kind === 'object') schema = { ...schema, shape: withFacets(schema.shape, more.members) }
  return schema
}

function modify(
  schema: Schema,
  name: string,
  given: readonly Expression[],
  lookup: Lookup,
  budget: Budget,
  depth: number,
): Schema {
  const { shape } = schema
  const word = name.toLowerCase()
  const of = (shape: Shape): Schema => ({ ...schema, shape })
  const [value] = given
  const bound = value?.kind === 'value' && typeof value.value === 'number' ? value.value : undefined
  if (OPTIONAL.has(word)) return { ...schema, optional: true }
  if (word === 'required') return { ...schema, required: true }
  if (word === 'valid' || word === 'oneof' || word === 'equal') {
    return of(values(given, () => [], lookup, budget) ?? shape)
  }
  if (word === 'items' || word === 'of') {
    const item = given.map((each) => toMember(each, lookup, budget, depth + 1)?.shape ?? ANY)
    return of({ kind: 'list', item: toUnion(item) })
  }
  if (/^(?:extend|keys|merge|and|concat)$/.test(word) && shape.kind === 'object') {
    const more = value?.kind === 'object'
      ? toObject(value.members, lookup, budget, depth, false)
      : value === undefined
      ? undefined
      : toMember(value, lookup, budget, depth + 1)?.shape
    return more?.kind === 'object'
      ? of({ kind: 'object', members: new Map([...shape.members, ...more.members]) })
      : schema
  }
  if (word === 'array') return of({ kind: 'list', item: shape })
  if (shape.kind === 'text') return of(modifyText(shape, word, value, bound))
  return shape.kind === 'number' ? of(modifyNumber(shape, word, bound)) : schema
}

function modifyText(
  shape: TextShape,
  word: string,
  value: Expression | undefined,
  bound?: number,
): TextShape {
  if (FORMATS.has(word)) return { ...shape, format: word === 'iso' ? 'date' : word }
  if (value?.kind === 'pattern') return { ...shape, pattern: value.source }
  if (/^(?:nonempty|min(?:length)?|length)$/.test(word)) shape = { ...shape, least: bound ?? 1 }
  return /^(?:max(?:length)?|length)$/.test(word) && bound !== undefined ? { ...shape, most: bound } : shape
}

function modifyNumber(shape: NumberShape, word: string, bound?: number): NumberShape {
  if (/^(?:int|integer|safe)$/.test(word)) return { ...shape, whole: true }
  if (/^(?:positive|nonnegative)$/.test(word)) return { ...shape, least: 1 }
  if (bound === undefined) return shape
  if (/^(?:min|gte|minvalue|minimum)$/.test(word)) return { ...shape, least: bound }
  if (/^(?:gt|morethan|greater)$/.test(word)) return { ...shape, least: bound + 1 }
  if (/^(?:max|lte|maxvalue|maximum)$/.test(word)) return { ...shape, most: bound }
  return /^(?:lt|lessthan|less)$/.test(word) ? { ...shape, most: bound - 1 } : shape
}

function toObject(
  given: ReadonlyMap<string, Expression>,
  lookup: Lookup,
  budget: Budget,
  depth: number,
  byText: boolean,
): Shape {
  const schemas = new Map<string, Schema>()
  for (const [name, expression] of given) {
    const optional = name.endsWith('?')
    const schema = toMember(expression, lookup, budget, depth + 1) ??
      { shape: (byText ? fromText(expression, lookup, budget) : undefined) ?? ANY, optional, required: false }
    schemas.set(optional ? name.slice(0, -1) : name, { ...schema, optional: optional || schema.optional })
  }
  const strict = [...schemas.values()].some(({ required }) => required)
  const members = [...schemas].map(([name, { shape, optional, required }]): [string, MemberShape] => {
    return [name, { shape, optional: optional || (strict && !required) }]
  })
  return { kind: 'object', members: new Map(members) }
}

/** A type that stands there as text. */
function fromText(expression: Expression, lookup: Lookup, budget: Budget): Shape | undefined {
  if (expression.kind === 'list') {
    const item = expression.items[0]
    return item === undefined ? undefined : { kind: 'list', item: fromText(item, lookup, budget) ?? ANY }
  }
  if (expression.kind !== 'value' || typeof expression.value !== 'string') return undefined
  const [, least, type] = /^(?:\s*(\d+)\s*<=?)?([^]*)$/.exec(expression.value.slice(0, 500))!
  const { shape } = readType(toTokens(type!), 0, lookup, budget)
  return shape.kind === 'text' && least !== undefined ? { ...shape, least: Number(least) } : shape
}

/** Undefined for an object that describes nothing. */
function fromJsonSchema(
  members: ReadonlyMap<string, Expression>,
  lookup: Lookup,
  budget: Budget,
  depth: number,
): Shape | undefined {
  const shapeOf = (expression: Expression | undefined) =>
    expression === undefined ? undefined : toMember(expression, lookup, budget, depth + 1)?.shape
  const choice = members.get('enum') ?? members.get('const') ?? members.get('symbols')
  if (choice !== undefined) return values([choice], () => [], lookup, budget)
  for (const name of ['anyOf', 'oneOf', 'allOf']) {
    const options = members.get(name)
    if (options?.kind === 'list') return toUnion(options.items.flatMap((each) => shapeOf(each) ?? []))
  }
  const type = members.get('type')
  if (type?.kind === 'list') {
    const options = type.items.flatMap((each) => shapeOf(each) ?? plainShape(each) ?? [])
    if (options.length > 0) return toUnion(options)
  }
  const nested = type?.kind === 'object' ? shapeOf(type) : undefined
  if (nested !== undefined) return nested
  const kind = type?.kind === 'value' ? type.value : undefined
  const properties = members.get('properties')
  if (properties?.kind === 'object') {
    const required = members.get('required')
    const wanted = new Set(required === undefined ? [] : valuesOf(required))
    const list = [...properties.members].map(([name, each]): [string, MemberShape] => {
      return [name, { shape: shapeOf(each) ?? ANY, optional: required !== undefined && !wanted.has(name) }]
    })
    return { kind: 'object', members: new Map(list) }
  }
  const fields = members.get('fields')
  if (kind === 'record' && fields?.kind === 'list') {
    const list = fields.items.flatMap((field): [string, MemberShape][] => {
      const name = field.kind === 'object' ? field.members.get('name') : undefined
      if (field.kind !== 'object' || name?.kind !== 'value') return []
      return [[String(name.value), { shape: shapeOf(field) ?? ANY, optional: false }]]
    })
    return { kind: 'object', members: new Map(list) }
  }
  if (kind === 'array') {
    const items = members.get('items')
    return {
      kind: 'list',
      item: shapeOf(items) ?? (items === undefined ? undefined : plainShape(items)) ?? ANY,
    }
  }
  const plain = type === undefined ? undefined : plainShape(type)
  return plain === undefined ? undefined : withFacets(plain, members)
}

function plainShape(expression: Expression): Shape | undefined {
  return expression.kind === 'value' ? JSON_KINDS[String(expression.value)] : undefined
}

const JSON_KINDS: Readonly<Record<string, Shape | undefined>> = {
  string: { kind: 'text' },
  integer: { kind: 'number', whole: true },
  int: { kind: 'number', whole: true },
  long: { kind: 'number', whole: true },
  number: { kind: 'number' },
  double: { kind: 'number' },
  float: { kind: 'number' },
  boolean: { kind: 'boolean' },
  null: { kind: 'values', values: [null] },
  object: { kind: 'record', item: ANY },
}

/** What JSON Schema says beside the kind. */
function withFacets(shape: Shape, members: ReadonlyMap<string, Expression>): Shape {
  const find = (...names: string[]) => {
    for (const name of names) {
      const found = members.get(name)
      if (found?.kind === 'value') return found.value
    }
    return undefined
  }
  const bounds = (least: unknown, most: unknown) => ({
    ...(typeof least === 'number' ? { least } : {}),
    ...(typeof most === 'number' ? { most } : {}),
  })
  if (shape.kind === 'number') return { ...shape, ...bounds(find('minimum'), find('maximum')) }
  if (shape.kind !== 'text') return shape
  const [format, pattern] = [find('format'), find('pattern')]
  return {
    ...shape,
    ...bounds(find('minLength'), find('maxLength')),
    ...(typeof format === 'string' ? { format: format.replaceAll('-', '').toLowerCase() } : {}),
    ...(typeof pattern === 'string' ? { pattern } : {}),
  }
}

function valuesOf(expression: Expression): unknown[] {
  if (expression.kind === 'value') return [expression.value]
  if (expression.kind === 'list') return expression.items.flatMap(valuesOf)
  return expression.kind === 'object' ? [...expression.members.values()].flatMap(valuesOf) : []
}
