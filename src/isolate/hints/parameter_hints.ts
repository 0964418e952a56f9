/** What a handler's source tells of the values that its query parameters have, for warm-up requests only. */
import type { Fact } from './facts.ts'
import { endsFormatOf, formatOf, isEnd, sampleFormat, type TextFormat } from './text_formats.ts'
import { sampleText, textKindOf } from './text_kinds.ts'

/** What is known of a parameter. */
export interface ParameterHint {
  /** The format of its values; null for any text. */
  readonly format: TextFormat | null
  /** Values that stand in the source: what it is compared with, or its default. Five at most. */
  readonly literals: readonly string[]
}

const NUMERIC =
  /\b(?:Number|parseInt|parseFloat)\(\s*[\w$.]{0,60}(?:query|searchParams\.get)\(\s*(['"`])([\w.[\]-]{1,64})\1/g
const LITERAL =
  /(?:query|searchParams\.get)\(\s*(['"`])([\w.[\]-]{1,64})\1\s*\)\s*(?:\?\?|\|\||[!=]==?)\s*(?:'([^'\\\n]{1,64})'|"([^"\\\n]{1,64})"|(\d[\d.]{0,15}))/g
/**
 * Which of the literals each request asks for. Those of the first client have no query, and the second asks for something else. Of
 * numbers but one request has one: they are no names of something.
 */
const LITERAL_OF_TURN: ReadonlyMap<number, number> = new Map(
  [[2, 1], [3, 0], [4, 0], [6, 3], [7, 2], [8, 1], [9, 0]],
)
const NUMBER_TURN = 3
/** From here on texts have what HTML escapes. */
const MARKUP_TURN = 5
/** Forms send fields that nobody filled in. */
const EMPTY_TURN = 9
const MOST_LITERALS = 5
/** Longest text of a kind in a query, in characters. */
const LONGEST_TEXT = 1000

interface OpenHint {
  format: TextFormat | null
  readonly literals: string[]
}

/**
 * What the text of a route file tells of its parameters, by name: what it does with the value, else with what is called as it is
 * (`const page = Number(ctx.get.query('p'))`, `Number(page)`). Of those of whom it tells nothing their name does, and of those among
 * `names` that are two ends the packages that the file imports.
 */
export function findParameters(
  source: string,
  facts: ReadonlyMap<string, Fact> = new Map(),
  names: readonly string[] = [],
): ReadonlyMap<string, ParameterHint> {
  const hints = new Map<string, OpenHint>()
  const of = (name: string) => {
    const hint = hints.get(name) ?? { format: formatOf(name) ?? null, literals: [] }
    hints.set(name, hint)
    return hint
  }
  const ends = endsFormatOf(source)
  if (ends !== undefined) { for (const name of names) if (isEnd(name)) of(name).format = ends }
  for (const [, , name] of source.matchAll(NUMERIC)) of(name!).format = 'number'
  for (const [, , name, single, double, number] of source.matchAll(LITERAL)) {
    const hint = of(name!)
    addLiteral(hint, single ?? double ?? number!)
    if (number !== undefined) hint.format = 'number'
  }
  for (const [name, { kinds, literals }] of facts) {
    if (kinds.has('number')) of(name).format = 'number'
    else if (kinds.has('date')) of(name).format = 'date'
    for (const literal of literals) addLiteral(of(name), String(literal))
  }
  return hints
}

function addLiteral({ literals }: OpenHint, value: string): void {
  if (literals.length < MOST_LITERALS && !literals.includes(value)) literals.push(value)
}

/** The value that request `turn` of the warm-up, or the probe's -1, gives a parameter; `text` is what it says where nothing is known. */
export function sampleParameter(
  parameters: ReadonlyMap<string, ParameterHint>,
  name: string,
  turn: number,
  text: string,
): string {
  const { format, literals } = parameters.get(name) ?? { format: formatOf(name) ?? null, literals: [] }
  const order = LITERAL_OF_TURN.get(turn)
  if (order !== undefined && literals.length > 0 && (format !== 'number' || turn === NUMBER_TURN)) {
    return literals[order % literals.length]!
  }
  if (format !== null) return sampleFormat(format, turn)
  if (turn === EMPTY_TURN) return ''
  const kind = textKindOf(name)
  if (kind === undefined) return turn >= MARKUP_TURN ? `${text} <b>&</b>` : text
  return sampleText([kind], turn).slice(0, LONGEST_TEXT)
}
