/** Values of a shape, for the bodies of warm-up requests. */
import {
  ANY,
  type Budget,
  MOST_PARTS,
  type NumberShape,
  type ObjectShape,
  type Shape,
  spend,
  type TextShape,
} from './shape.ts'
import { matchPattern } from './pattern_text.ts'
import { formatOf, sampleFormat } from './text_formats.ts'
import { holdsText, sampleText, textKindOf } from './text_kinds.ts'
import type { TextKind } from './text_samples.ts'

/** Where a value is for. */
export interface Occasion {
  /** Number of the request: each has other values; -1 is the probe's. */
  readonly turn: number
  /** Kinds of text that the file works on, by what it imports. */
  readonly texts: readonly TextKind[]
}

const TEXTS = ['warmup', 'Grüße warmup', '927687', 'warm up, grüße, 漢字 🐝', 'probe'] as const
const NUMBERS = [9, 27, 6, 8.7] as const
/** Lengths of lists: of those that are a body or its members, and of those within. */
const LENGTHS = [3, 1, 16, 2, 0, 5, 8, 2] as const
const INNER_LENGTHS = [2, 1, 3, 2, 0, 3, 1, 2] as const
const KEYS = ['name', 'warmup', 'größe', 'b', 'id', 'a/b.txt'] as const

/** Requests of this turn of eight have every member wrong, or none at all. */
const WRONG = 3
const EMPTY = 7

/**
 * A value of the shape. Of eight turns in a row one is wrong in all members and one lacks them all, as what refuses a body is code too; the optional members are missing in two
 * others. It is the same whenever it is asked for.
 */
export function sampleValue(shape: Shape, occasion: Occasion): unknown {
  const { turn } = occasion
  if (turn % 8 === WRONG) return spoil(shape)
  if (turn % 8 === EMPTY && shape.kind === 'object' && shape.members.size > 0) return { extra: 'warmup' }
  return sample(shape, '', occasion, { left: MOST_PARTS }, 0)
}

/** The same as fields of a form; undefined for what is no object. */
export function sampleForm(shape: Shape, occasion: Occasion): Record<string, string> | undefined {
  const value = sampleValue(shape, occasion)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const fields = Object.entries(value).map(([name, given]) => [name, toField(given)] as const)
  return Object.fromEntries(fields)
}

function toField(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function sample(shape: Shape, name: string, occasion: Occasion, budget: Budget, depth: number): unknown {
  if (!spend(budget, depth)) return null
  const { turn } = occasion
  const inner = (shape: Shape, name: string, more = 0) =>
    sample(shape, name, { ...occasion, turn: turn + more }, budget, depth + 1)
  switch (shape.kind) {
    case 'text':
      return sampleTextOf(shape, name, occasion)
    case 'number':
      return sampleNumber(shape, name, turn)
    case 'boolean':
      return turn % 2 === 0
    case 'values':
      return shape.values.length === 0 ? null : pick(shape.values, turn)
    case 'list':
      return Array.from(
        { length: pick(depth < 2 ? LENGTHS : INNER_LENGTHS, turn) },
        (_, index) => inner(shape.item, singular(name), index),
      )
    case 'tuple':
      return shape.items.map((item, index) => inner(item, name, index))
    case 'object':
      return sampleObject(shape, turn, inner)
    case 'record':
      return Object.fromEntries(
        KEYS.slice(0, 2 + pick(INNER_LENGTHS, turn)).map((
          key,
          index,
        ) => [key, inner(shape.item, key, index)]),
      )
    case 'union':
      return inner(pick(shape.options, turn), name)
    case 'any':
      return sampleAny(name, occasion, depth)
  }
}

function sampleObject(
  { members }: ObjectShape,
  turn: number,
  inner: (shape: Shape, name: string, more?: number) => unknown,
): Record<string, unknown> {
  const isShort = turn % 4 === 1
  const values: [string, unknown][] = []
  for (const [name, { shape, optional }] of members) {
    if (!optional || !isShort) values.push([name, inner(shape, name)])
  }
  return Object.fromEntries(values)
}

function sampleTextOf(
  { format, pattern, least = 0, most = Infinity }: TextShape,
  name: string,
  occasion: Occasion,
): string {
  const { turn, texts } = occasion
  const matching = pattern === undefined ? undefined : matchPattern(pattern, turn)
  if (matching !== undefined) return matching
  const known = format === undefined ? undefined : formatOf(format === 'date' ? 'datetime' : format)
  if (format === 'date') return sampleFormat('day', turn)
  if (known !== undefined) return sampleFormat(known, turn)
  const kind = textKindOf(name)
  const long = kind !== undefined ? [kind] : holdsText(name) && texts.length > 0 ? texts : undefined
  if (long !== undefined && most > 1000) return sampleText(long, turn)
  const named = formatOf(name)
  const text = named === undefined ? textOf(turn) : sampleFormat(named, turn)
  return text.padEnd(Math.min(least, 1000), 'warmup').slice(0, most)
}

function sampleNumber({ whole, least, most }: NumberShape, name: string, turn: number): number {
  const chosen = /id$/i.test(name) && turn % 2 === 0 ? turn + 1 : pick(NUMBERS, turn)
  const number = Math.min(Math.max(chosen, least ?? -Infinity), most ?? Infinity)
  return whole === true ? Math.round(number) : number
}

/** Of what may be anything: a document with something of everything, or what its name tells. */
function sampleAny(name: string, { turn, texts }: Occasion, depth: number): unknown {
  if (name === '') return depth === 0 ? documentOf(turn) : textOf(turn)
  const format = formatOf(name)
  if (format === 'number') return pick(NUMBERS, turn)
  if (/^(?:is|has)[A-Z]|^(?:done|open|active|enabled|visible|checked)$/.test(name)) return turn % 2 === 0
  if (/[^s]s$/.test(name) && format === undefined) return [textOf(turn), textOf(turn + 1)]
  if (name === 'id') return turn % 2 === 0 ? 927687 : 'warmup'
  return sampleTextOf({ kind: 'text' }, name, { turn, texts })
}

const PERSON = {
  name: 'Ann',
  age: 27,
  email: 'a@warmup.example',
  tags: ['a', 'b'],
  address: { city: 'Köln', zip: '92768' },
  active: true,
}
/** For the turns in order; the last is the probe's. */
const DOCUMENTS: readonly unknown[] = [
  {
    id: 927687,
    title: 'Warmup',
    text: 'Grüße, "quoted" <b>&</b> 漢字 🐝\n'.repeat(4),
    count: 27,
    price: -9.27,
    large: 9276870000,
    open: true,
    closed: false,
    none: null,
    date: '1987-06-27T09:27:06Z',
    tags: ['a', 'größe'],
    numbers: [1, 2.5, -3, 1e9],
    empty: {},
    list: [],
    people: [PERSON, { ...PERSON, name: 'Jörg', age: 9, tags: [] }],
    deep: { er: { still: [{ x: 1 }, [2, [3]]] } },
  },
  { id: 'warmup' },
  {
    name: 'Grüße warmup',
    größe: 1,
    list: [1, 'two', null, { three: 3 }],
    nested: { a: { b: 'c' } },
    items: [PERSON],
  },
  [],
  { id: '9276870', people: [], title: '<i>warmup</i>', value: 8.7 },
  [PERSON, { ...PERSON, name: 'Zoë' }, 'text', 9, null],
  { id: 'warmup-4', name: 'warmup', email: 'b@warmup.example', message: 'warm up', items: [1, 2, 3] },
  {},
  {
    id: 77623,
    name: 'probe',
    title: 'Probe',
    tags: ['probe'],
    people: [{ name: 'probe', age: 5 }],
    message: 'probe',
  },
]

/** Each member as it must not be. */
function spoil(shape: Shape): unknown {
  if (shape.kind === 'any' || shape.kind === 'record') {
    return sample(ANY, '', { turn: WRONG, texts: [] }, { left: 1 }, 0)
  }
  if (shape.kind !== 'object') {
    return shape.kind === 'list' ? [null, { extra: 'warmup' }, 9] : { warmup: 927687 }
  }
  return Object.fromEntries(
    [...[...shape.members].map(([name, { shape }]) => [name, WRONGS[shape.kind]] as const), [
      'extra',
      927687,
    ]],
  )
}

const WRONGS: Readonly<Record<Shape['kind'], unknown>> = {
  any: null,
  text: '',
  number: 'warmup',
  boolean: 'warmup',
  values: 'warmup',
  list: 'warmup',
  tuple: [],
  object: {},
  record: 'warmup',
  union: 'warmup',
}

function documentOf(turn: number): unknown {
  return DOCUMENTS[turn < 0 ? DOCUMENTS.length - 1 : turn % (DOCUMENTS.length - 1)]
}

function textOf(turn: number): string {
  return TEXTS[turn < 0 ? 4 : turn % 4]!
}

function pick<T>(list: readonly T[], turn: number): T {
  return list[(turn + list.length) % list.length]!
}

function singular(name: string): string {
  return name.endsWith('ies') ? `${name.slice(0, -3)}y` : name.replace(/s$/, '')
}
