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
import { sampleDocument } from './document_samples.ts'
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

/** One has what HTML escapes. */
const TEXTS = [
  'warmup',
  'Grüße warmup',
  '<b>927687</b> & "more"',
  'warm up, grüße, 漢字 🐝',
  'probe',
] as const
const NUMBERS = [9, 27, 6, 8.7] as const
/** Lengths of lists: of those that are a body or its members, and of those within. */
const LENGTHS = [3, 1, 16, 2, 0, 5, 8, 2] as const
const INNER_LENGTHS = [2, 1, 3, 2, 0, 3, 1, 2] as const
/** What a form asks for twice. */
const REPEATED = /repeat|confirm|^password2$/i
const KEYS = ['name', 'warmup', 'größe', 'b', 'id', 'a/b.txt'] as const

/** Requests of these turns have every member wrong, of their own kind (too short) and of others, or none at all. */
const WRONG = 3
const OTHER = 8
const EMPTY = 7
/** The texts of this one are long. */
const LONG = 6

/**
 * A value of the shape. Of ten turns two are wrong in all members and one lacks them all, as what refuses a body is code too; the
 * optional members are missing in three others. It is the same whenever it is asked for.
 */
export function sampleValue(shape: Shape, occasion: Occasion): unknown {
  const { turn } = occasion
  if (turn === WRONG || turn === OTHER) return spoil(shape, turn === OTHER)
  if (turn === EMPTY && shape.kind === 'object' && shape.members.size > 0) return { extra: 'warmup' }
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
  const object = Object.fromEntries(values)
  for (const name of Object.keys(object)) {
    if (REPEATED.test(name) && Object.hasOwn(object, 'password')) object[name] = object.password
  }
  return object
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
  const long = kind !== undefined ? [kind] : holdsText(name, texts) ? texts : undefined
  if (long !== undefined && most > 1000) return sampleText(long, turn)
  const named = formatOf(name)
  if (named === undefined && turn === LONG && most === Infinity) return sampleText(['prose'], 0)
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
  if (name === '') return depth === 0 ? sampleDocument(turn) : textOf(turn)
  const format = formatOf(name)
  if (format === 'number') return pick(NUMBERS, turn)
  if (/^(?:is|has)[A-Z]|^(?:done|open|active|enabled|visible|checked)$/.test(name)) return turn % 2 === 0
  if (/[^s]s$/.test(name) && format === undefined) return [textOf(turn), textOf(turn + 1)]
  if (name === 'id') return turn % 2 === 0 ? 927687 : 'warmup'
  return sampleTextOf({ kind: 'text' }, name, { turn, texts })
}

/** Each member as it must not be. */
function spoil(shape: Shape, other: boolean): unknown {
  if (shape.kind === 'any' || shape.kind === 'record') {
    return sample(ANY, '', { turn: other ? OTHER : WRONG, texts: [] }, { left: 1 }, 0)
  }
  if (shape.kind !== 'object') {
    return shape.kind === 'list' ? [null, { extra: 'warmup' }, 9] : { warmup: 927687 }
  }
  return Object.fromEntries(
    [
      ...[...shape.members].map(([name, { shape }]) =>
        [name, other ? OTHERS[shape.kind] : WRONGS[shape.kind]] as const
      ),
      [
        'extra',
        927687,
      ],
    ],
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

/** Of other kinds. */
const OTHERS: typeof WRONGS = {
  any: { warmup: [] },
  text: 927687,
  number: null,
  boolean: 9,
  values: 9,
  list: {},
  tuple: 'warmup',
  object: 'warmup',
  record: [],
  union: 9.27,
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
