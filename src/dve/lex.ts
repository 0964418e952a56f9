/** Tokens of what stands inside a tag. Text outside tags never comes here. */
import { type Source, TemplateError } from './error.ts'

export type TokenKind = 'number' | 'string' | 'name' | 'meta' | 'operator' | 'close' | 'end'

/** `value` is the number, the text of a string, the name, or the operator. `end` is the offset behind the token. */
export interface Token {
  readonly kind: TokenKind
  readonly value: string | number
  readonly at: number
  readonly end: number
}

const NAME_START = /[\p{ID_Start}$_]/u
const NAME_PART = /[\p{ID_Continue}$\u200c\u200d]/u
/** Longest first. Those that DVE does not have are cut here too, so that `a++b` is not read as `a + +b`. */
const OPERATORS = [
  ['>>>=', '...', '===', '!==', '**=', '<<=', '>>=', '>>>', '&&=', '||=', '??='],
  [
    '==',
    '!=',
    '<=',
    '>=',
    '&&',
    '||',
    '??',
    '?.',
    '++',
    '--',
    '+=',
    '-=',
    '*=',
    '/=',
    '%=',
    '**',
    '=>',
    '<<',
    '>>',
  ],
].flat()
const NUMBER =
  /(?:0[xX][\da-fA-F](?:_?[\da-fA-F])*|0[oO][0-7](?:_?[0-7])*|0[bB][01](?:_?[01])*|(?:(?:0|[1-9](?:_?\d)*)(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?)/y

/** The code point at `at` as a string. */
function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}

function isNameStart(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 128) {
    return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code === 36
  }
  return at < text.length && NAME_START.test(characterAt(text, at))
}

/** Offset behind the name that starts at `at`, which `isNameStart` has seen. */
function skipName(text: string, at: number): number {
  let end = at
  while (end < text.length) {
    const code = text.charCodeAt(end)
    if (code < 128) {
      const isPart = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 ||
        code === 36 ||
        (code >= 48 && code <= 57)
      if (!isPart) break
      end++
    } else {
      const character = characterAt(text, end)
      if (!NAME_PART.test(character)) break
      end += character.length
    }
  }
  return end
}

/** Offset of the first character from `at` that is no white space. */
export function skipSpace(text: string, at: number): number {
  let end = at
  while (end < text.length) {
    const code = text.charCodeAt(end)
    if (code === 32 || (code >= 9 && code <= 13)) end++
    else if (code >= 128 && characterAt(text, end).trim() === '') end++
    else break
  }
  return end
}

/** The token at or behind `at`. `close` is `}}` or `}}}`, whichever the tag was opened for; a `~` may stand before it. */
export function nextToken(source: Source, at: number, close: string): Token {
  const { text } = source
  const start = skipSpace(text, at)
  if (start >= text.length) return { kind: 'end', value: '', at: start, end: start }
  const character = text[start]
  if (character === '}' || character === '~') {
    const token = closeToken(text, start, close)
    if (token !== null) return token
  }
  if (character === '"' || character === "'") return stringToken(source, start)
  const code = text.charCodeAt(start)
  const digit = code >= 48 && code <= 57
  const next = text.charCodeAt(start + 1)
  if (digit || (character === '.' && next >= 48 && next <= 57)) return numberToken(source, start)
  if (isNameStart(text, start)) {
    const end = skipName(text, start)
    return { kind: 'name', value: text.slice(start, end), at: start, end }
  }
  if (character === '@' && isNameStart(text, start + 1)) {
    const end = skipName(text, start + 1)
    return { kind: 'meta', value: text.slice(start, end), at: start, end }
  }
  return operatorToken(text, start)
}

/** `~}}` and `}}`; for a raw tag also `}~}}`, the mirror of `{{~{`. */
function closeToken(text: string, start: number, close: string): Token | null {
  if (close === '}}}' && text.startsWith('}~}}', start)) {
    return { kind: 'close', value: '~', at: start, end: start + 4 }
  }
  const trim = text[start] === '~'
  const brace = trim ? start + 1 : start
  if (!text.startsWith(close, brace)) return null
  return { kind: 'close', value: trim ? '~' : '', at: start, end: brace + close.length }
}

/** What the second character of an operator may be. */
const SECOND = '=&|?.+-*<>'

function operatorToken(text: string, start: number): Token {
  const second = text[start + 1]
  if (second === ' ' || second === undefined || !SECOND.includes(second)) {
    const single = characterAt(text, start)
    return { kind: 'operator', value: single, at: start, end: start + single.length }
  }
  for (const operator of OPERATORS) {
    if (!text.startsWith(operator, start)) continue
    // As in JavaScript, `a?.5:1` is a choice.
    if (operator === '?.' && text.charCodeAt(start + 2) >= 48 && text.charCodeAt(start + 2) <= 57) continue
    return { kind: 'operator', value: operator, at: start, end: start + operator.length }
  }
  const character = characterAt(text, start)
  return { kind: 'operator', value: character, at: start, end: start + character.length }
}

function numberToken(source: Source, start: number): Token {
  const { text } = source
  NUMBER.lastIndex = start
  const match = NUMBER.exec(text)
  const end = start + (match?.[0].length ?? 0)
  const code = text.charCodeAt(end)
  if (match === null || isNameStart(text, end) || (code >= 48 && code <= 57)) {
    throw new TemplateError(
      `Cannot read number: ${
        JSON.stringify(text.slice(start, skipName(text, start)))
      }, want a JavaScript number`,
      source,
      start,
    )
  }
  return { kind: 'number', value: Number(match[0].replaceAll('_', '')), at: start, end }
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  __proto__: null,
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  '\n': '',
  '\u2028': '',
  '\u2029': '',
} as unknown as Record<string, string>

function stringToken(source: Source, start: number): Token {
  const { text } = source
  const quote = text[start]
  let value = ''
  let from = start + 1
  for (let at = from; at < text.length; at++) {
    const character = text[at]
    if (character === quote) {
      return { kind: 'string', value: value + text.slice(from, at), at: start, end: at + 1 }
    }
    if (character === '\n' || character === '\r') break
    if (character !== '\\') continue
    value += text.slice(from, at)
    const escape = readEscape(source, at)
    value += escape.value
    from = escape.end
    at = from - 1
  }
  throw new TemplateError(`Cannot read string: want a closing ${quote} on the same line`, source, start)
}

/** The escape whose backslash is at `at`, by the rules of a JavaScript string in strict mode. */
function readEscape(source: Source, at: number): { value: string; end: number } {
  const { text } = source
  const character = characterAt(text, at + 1)
  if (character === '\r') return { value: '', end: text[at + 2] === '\n' ? at + 3 : at + 2 }
  const simple = SIMPLE_ESCAPES[character]
  if (simple !== undefined) return { value: simple, end: at + 2 }
  if (character === 'x' || character === 'u') {
    const match = /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{0*([\da-fA-F]{1,6})\})/.exec(
      text.slice(at + 1, at + 64),
    )
    const code = match === null ? NaN : parseInt(match[1] ?? match[2] ?? match[3]!, 16)
    if (match !== null && code <= 0x10ffff) {
      return { value: String.fromCodePoint(code), end: at + 1 + match[0].length }
    }
    throw new TemplateError('Cannot read string: want hexadecimal digits in the escape', source, at)
  }
  if (character >= '0' && character <= '9') {
    const following = text[at + 2] ?? ''
    if (character === '0' && !(following >= '0' && following <= '9')) return { value: '\0', end: at + 2 }
    throw new TemplateError('Cannot read string: octal escapes are not allowed, want \\x or \\u', source, at)
  }
  return { value: character, end: at + 1 + character.length }
}
