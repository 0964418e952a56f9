/** A small highlighter: text in, HTML out, with one-letter classes. Every character of the input is in the output. */
import { escape } from '@std/html'

/** The languages that are coloured; anything else is escaped and left plain. */
export type Language = 'ts' | 'js' | 'dve' | 'json' | 'sh' | 'http' | 'text'

/** What a piece of text is: keyword, string, number, type, call, comment, markup, directive of a template. */
export type TokenClass = 'k' | 's' | 'n' | 't' | 'f' | 'c' | 'g' | 'd'

/** A piece of the source; `kind` is undefined for plain text. */
export interface Token {
  readonly text: string
  readonly kind: TokenClass | undefined
}

interface Rule {
  /** Sticky. */
  readonly pattern: RegExp
  readonly kind: (match: RegExpExecArray, before: string) => TokenClass | undefined
}

const KEYWORDS = new Set(
  (
    'as async await break case catch class const continue default delete do else enum export extends false finally ' +
    'for from function get if implements import in instanceof interface is keyof let namespace new null of override ' +
    'readonly return satisfies set static super switch this throw true try type typeof undefined using var void while yield'
  ).split(' '),
)

const SCRIPT: readonly Rule[] = [
  rule(/\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/y, 'c'),
  rule(/'(?:\\[^]|[^'\\\n])*'?|"(?:\\[^]|[^"\\\n])*"?/y, 's'),
  { pattern: /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y, kind: () => 's' },
  rule(/\d[\w.]*/y, 'n'),
  {
    pattern: /[A-Za-z_$][\w$]*(?=(\s*\()?)/y,
    kind: ([word, call], before) => {
      if (KEYWORDS.has(word) && !before.endsWith('.')) return 'k'
      if (call !== undefined) return 'f'
      return /^[A-Z]/.test(word) ? 't' : undefined
    },
  },
  rule(/\s+/y, undefined),
  rule(/[^]/y, undefined),
]

const TEMPLATE: readonly Rule[] = [
  rule(/\{\{!--[^]*?(?:--\}\}|$)|<!--[^]*?(?:-->|$)/y, 'c'),
  rule(/\{\{\{?(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^}'"])*\}?\}?\}?/y, 'd'),
  rule(/<\/?[A-Za-z!][\w-]*|\/?>/y, 'g'),
  rule(/[^<>{/]+|[^]/y, undefined),
]

const JSON_RULES: readonly Rule[] = [
  rule(/"(?:\\.|[^"\\\n])*"(?=\s*:)/y, 't'),
  rule(/"(?:\\.|[^"\\\n])*"?/y, 's'),
  rule(/-?\d[\d.eE+-]*/y, 'n'),
  rule(/true|false|null/y, 'k'),
  rule(/[^"\dtfn-]+|[^]/y, undefined),
]

const SHELL: readonly Rule[] = [
  rule(/#[^\n]*/y, 'c'),
  rule(/'[^']*'?|"(?:\\[^]|[^"\\])*"?/y, 's'),
  rule(/[^#'"]+/y, undefined),
]

/** HTML of `source` in its language, safe to put into a page as it is. */
export function highlight(source: string, language: Language): string {
  let html = ''
  for (const { text, kind } of tokenize(source, language)) {
    html += kind === undefined ? escape(text) : `<span class="${kind}">${escape(text)}</span>`
  }
  return html
}

/** The pieces of `source`, in order; joined they are the source. */
export function tokenize(source: string, language: Language): Token[] {
  if (language === 'ts' || language === 'js') return tokenizeScript(source)
  if (language === 'dve') return run(source, TEMPLATE)
  if (language === 'json') return run(source, JSON_RULES)
  if (language === 'sh') return run(source, SHELL)
  return source === '' ? [] : [{ text: source, kind: undefined }]
}

/** The language of a file by its name. */
export function languageOf(name: string): Language {
  const ending = name.slice(name.lastIndexOf('.') + 1)
  if (ending === 'ts' || ending === 'tsx' || ending === 'typescript') return 'ts'
  if (ending === 'js' || ending === 'mjs' || ending === 'jsx' || ending === 'javascript') return 'js'
  if (ending === 'dve' || ending === 'html') return 'dve'
  if (ending === 'json' || ending === 'jsonc') return 'json'
  return ending === 'sh' || ending === 'bash' || ending === 'shell' ? 'sh' : 'text'
}

function tokenizeScript(source: string): Token[] {
  const tokens: Token[] = []
  scriptUntil(source, 0, false, tokens)
  return tokens
}

/** Reads script from `start` to the end, or to the brace that closes a template literal's `${`; gives where it stopped. */
function scriptUntil(source: string, start: number, nested: boolean, tokens: Token[]): number {
  let at = start
  let depth = 0
  let before = ''
  while (at < source.length) {
    const char = source[at]
    if (char === '`') {
      at = templateLiteral(source, at, tokens)
      before = '`'
      continue
    }
    if (nested && char === '}' && depth === 0) return at
    if (char === '{') depth++
    if (char === '}') depth--
    const token = next(source, at, SCRIPT, before)
    push(tokens, token)
    // A keyword after a dot is a name like any other.
    if (token.text.trim() !== '') {
      before = token.kind !== 'k' && KEYWORDS.has(token.text) ? 'name' : token.text
    }
    at += token.text.length
  }
  return at
}

function templateLiteral(source: string, start: number, tokens: Token[]): number {
  let at = start + 1
  let from = start
  while (at < source.length) {
    if (source[at] === '\\') at += 2
    else if (source[at] === '`') {
      push(tokens, { text: source.slice(from, at + 1), kind: 's' })
      return at + 1
    } else if (source.startsWith('${', at)) {
      push(tokens, { text: source.slice(from, at + 2), kind: 's' })
      from = at = scriptUntil(source, at + 2, true, tokens)
    } else at++
  }
  push(tokens, { text: source.slice(from), kind: 's' })
  return source.length
}

function run(source: string, rules: readonly Rule[]): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < source.length;) {
    const token = next(source, at, rules, '')
    push(tokens, token)
    at += token.text.length
  }
  return tokens
}

function next(source: string, at: number, rules: readonly Rule[], before: string): Token {
  for (const { pattern, kind } of rules) {
    if (
      rules === SCRIPT && source[at] === '/' && pattern.source.startsWith('\\/(?:\\\\.') &&
      !regexpMayFollow(before)
    ) {
      continue
    }
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match !== null && match[0] !== '') return { text: match[0], kind: kind(match, before) }
  }
  return { text: source[at], kind: undefined }
}

/** A slash after a value divides; anywhere else it opens a regular expression. */
function regexpMayFollow(before: string): boolean {
  if (before === '') return true
  if (KEYWORDS.has(before)) return before !== 'this' && before !== 'super' && before !== 'null'
  return !/[\w$)\]}'"`]$/.test(before)
}

function push(tokens: Token[], token: Token): void {
  if (token.text === '') return
  const last = tokens.at(-1)
  if (last !== undefined && last.kind === token.kind) {
    tokens[tokens.length - 1] = { text: last.text + token.text, kind: token.kind }
  } else tokens.push(token)
}

function rule(pattern: RegExp, kind: TokenClass | undefined): Rule {
  return { pattern, kind: () => kind }
}
