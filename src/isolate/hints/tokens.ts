/** The words of a source text in TypeScript, for who looks at it without running it. */
import jsTokens from 'js-tokens'

/** A word; comments and blanks are none. */
export interface Token {
  readonly kind: 'name' | 'text' | 'template' | 'number' | 'pattern' | 'sign'
  /** What stands in it: without quotes, and without the signs around a part of a template. */
  readonly text: string
}

/** A text and where its brackets close. */
export interface Tokens {
  readonly list: readonly Token[]
  /** For each opening bracket the index of the closing one; of one that stays open, the end. */
  readonly close: ReadonlyMap<number, number>
}

/** Characters of a source that are looked at. */
export const LONGEST_SOURCE = 32 * 1024
const OPEN: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }
const NO_TOKEN: Token = { kind: 'sign', text: '' }

/** Splits a text, in time that grows with its length. Nothing of it need be right. */
export function toTokens(source: string, jsx = false): Tokens {
  const list: Token[] = []
  for (const { type, value } of jsTokens(source.slice(0, LONGEST_SOURCE), { jsx })) {
    const kind = KINDS[type]
    if (kind === undefined) continue
    // Brackets of types: `Record<string, Array<number>>`.
    if (kind === 'sign' && /^>>+$/.test(value)) list.push(...Array.from(value, (text) => ({ kind, text })))
    else list.push({ kind, text: BARE[kind]?.(value) ?? value })
  }
  return { list, close: matchBrackets(list) }
}

/** The word at an index; one that is empty beyond the ends. */
export function at({ list }: Tokens, index: number): Token {
  return list[index] ?? NO_TOKEN
}

/** Whether this sign, or keyword, stands there. */
export function is(tokens: Tokens, index: number, text: string): boolean {
  const token = at(tokens, index)
  return token.text === text && (token.kind === 'sign' || token.kind === 'name')
}

const KINDS: Readonly<Record<string, Token['kind'] | undefined>> = {
  IdentifierName: 'name',
  StringLiteral: 'text',
  NoSubstitutionTemplate: 'template',
  TemplateHead: 'template',
  TemplateMiddle: 'template',
  TemplateTail: 'template',
  NumericLiteral: 'number',
  RegularExpressionLiteral: 'pattern',
  Punctuator: 'sign',
}

const BARE: Partial<Record<Token['kind'], (value: string) => string>> = {
  text: (value) => unescape(value.slice(1, -1)),
  template: (value) => unescape(value.replace(/^[`}]/, '').replace(/(?:`|\$\{)$/, '')),
  pattern: (value) => value.slice(1, value.lastIndexOf('/')),
  number: (value) => value.replaceAll('_', ''),
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

function unescape(text: string): string {
  return text.replaceAll(/\\([^])/g, (_, sign: string) => ESCAPES[sign] ?? sign)
}

function matchBrackets(list: readonly Token[]): ReadonlyMap<number, number> {
  const close = new Map<number, number>()
  const open: number[] = []
  for (const [index, { kind, text }] of list.entries()) {
    if (kind !== 'sign') continue
    if (Object.hasOwn(OPEN, text)) open.push(index)
    else if (open.length > 0 && OPEN[list[open.at(-1)!]!.text] === text) close.set(open.pop()!, index)
  }
  for (const index of open) close.set(index, list.length)
  return close
}
