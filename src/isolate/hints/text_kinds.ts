/** Which kind of text a route file works on, by the words that stand in it. */
import { SHORT_SAMPLES, TEXT_SAMPLES, type TextKind } from './text_samples.ts'
import { is, type Tokens } from './tokens.ts'

/** Words that tell a kind, wherever they stand in a name; the first of a name that fits counts. Names of packages say what they parse. */
const WORDS: readonly (readonly [kind: TextKind, words: RegExp])[] = [
  ['markdown', /markdown|marked|remark|showdown|commonmark|mdast|micromark|\bmd\b/],
  ['svg', /svg/],
  ['html', /html|cheerio|parse5|rehype|hast\b|jsdom|linkedom|turndown|dompurify|readability|juice|\bxss\b/],
  ['xml', /xml|\bsax\b|\brss\b|\batom\b|\bxpath\b/],
  ['css', /css|stylus|tailwind/],
  ['typed', /typescript|sucrase|\bswc\b|ts-?morph|\btsx?\b/],
  [
    'script',
    /javascript|ecma|esprima|acorn|babel|terser|uglify|esbuild|magic-?string|escodegen|estree|prettier|jsx|\bjs\b|\bhljs\b|highlight|\bprism|\bshiki|\bcode\b|meriyah|eslint|recast/,
  ],
  ['json5', /json5|jsonc|hjson/],
  ['yaml', /yaml|\byml\b/],
  ['toml', /toml/],
  ['ini', /\bini\b|dotenv|\benv\b|properties-?parser/],
  ['csv', /csv|papaparse|\btsv\b|spreadsheet|\bxlsx?\b/],
  ['graphql', /graphql|\bgql\b/],
  ['sql', /sql|\bpg\b|knex|kysely/],
  ['latex', /katex|latex|\btex\b|mathjax|temml/],
  ['math', /mathjs|expr-eval|\bexpression\b|formula|nerdamer|algebra/],
  ['template', /handlebars|mustache|liquid|nunjucks|\bejs\b|\beta\b|\bpug\b|template/],
  ['json', /\bjson\b/],
]
const MOST_KINDS = 2
/** One request brings a text of many pages: what works on those reserves more, and runs other loops. */
const LONG_TURN = 2
const LONG_CHARACTERS = 8000
/** Kinds whose texts may be put behind each other: of others names would be there twice, or roots. */
const REPEATABLE: ReadonlySet<TextKind> = new Set([
  'prose',
  'markdown',
  'html',
  'css',
  'csv',
  'ini',
  'sql',
  'template',
])
/** What says in which language something is written, not what it reads: `libphonenumber-js`. */
const ENDING = /[.-][jt]sx?\b/g

/**
 * The kinds of text that a file works on, two at most: what its imports say, else the names in it; prose where nothing does. What it
 * sends (`ctx.send.html`) says nothing about what comes.
 */
export function findTextKinds(tokens: Tokens): readonly TextKind[] {
  const imports: string[] = []
  const texts: string[] = []
  const names = new Set<string>()
  for (const [index, { kind, text }] of tokens.list.entries()) {
    const isImport = kind === 'text' &&
      (is(tokens, index - 1, 'from') || is(tokens, index - 1, 'import') || is(tokens, index - 2, 'import'))
    if (isImport) {
      imports.push(text.replaceAll(ENDING, ''))
    } else if (kind === 'name') {
      // `ctx.send.html`, and `JSON`, which is everywhere.
      if (!is(tokens, index - 2, 'send') && !/^(?:JSON|json)$/.test(text)) names.add(text)
    } else if (kind === 'text' && text.length < 40) {
      names.add(text)
      texts.push(text)
    }
  }
  if (is(tokens, tokens.list.findIndex(({ text }) => text === 'JSON') + 2, 'parse')) names.add('a json')
  const told = kindsOf(imports)
  if (told.length === 0) return orProse(kindsOf([...names]))
  // What works on programs may do so on those of any language: the file names it.
  return told[0] === 'script' ? [...new Set([...told, ...kindsOf(texts)])].slice(0, MOST_KINDS + 1) : told
}

/** The kind that one name tells; undefined for most. */
export function textKindOf(name: string): TextKind | undefined {
  const words = toWords(name)
  return WORDS.find(([, pattern]) => pattern.test(words))?.[0]
}

function kindsOf(names: readonly string[]): readonly TextKind[] {
  const counts = new Map<TextKind, number>()
  for (const name of names) {
    const kind = textKindOf(name)
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_KINDS).map(([kind]) => kind)
}

function orProse(kinds: readonly TextKind[]): readonly TextKind[] {
  return kinds.length === 0 ? ['prose', 'prose', 'json'] : kinds
}

/** `parseCSV2` as `parse-csv2`. */
function toWords(name: string): string {
  return name.slice(0, 100).replaceAll(/([a-z])([A-Z])/g, '$1-$2').toLowerCase().replaceAll('_', '-')
}

/**
 * The text that request `turn` of a warm-up, or the probe's -1, brings: whole, without its first half, and cut off in the middle, so that what refuses a text
 * runs as well.
 */
export function sampleText(kinds: readonly TextKind[], turn: number): string {
  const kind = kinds[Math.abs(turn) % kinds.length]!
  const text = TEXT_SAMPLES[kind]
  if (turn === LONG_TURN) return toLong(kind, text)
  const half = text.indexOf('\n', text.length / 2) + 1 || Math.floor(text.length / 2)
  switch (turn % 8) {
    case 3:
      return text.slice(half)
    case 5:
      return SHORT_SAMPLES[kind] ?? text.slice(0, half - 1)
    case 6:
      return `${text.slice(0, Math.floor(text.length * 0.7))}<{[("`
    case -1:
      return `${text}\nprobe`
    default:
      return text
  }
}

/** The text several times, where that is one of its kind. */
function toLong(kind: TextKind, text: string): string {
  const times = Math.ceil(LONG_CHARACTERS / text.length)
  if (kind === 'json' || kind === 'json5') return `[${Array(times).fill(text).join(',\n')}]`
  if (kind === 'script') return text + SHORT_SAMPLES.script!
  return REPEATABLE.has(kind) ? `${text}\n`.repeat(times) : text
}

const HOLDERS =
  /^(?:text|source|src|code|input|content|body|query|template|markup|document|doc|data|raw|string|str)$/i
/** What people write for each other: a text of the file's kind where that is one of its own. */
const WRITINGS = /^(?:comment|message|description|bio|note|post|article|answer|review|summary)$/i

/** Whether something of this name holds a text of the file's kinds: `source`, `template`, and `comment` where the file works on HTML. */
export function holdsText(name: string, kinds: readonly TextKind[]): boolean {
  if (kinds.length === 0) return false
  return HOLDERS.test(name) || (!kinds.includes('prose') && WRITINGS.test(name))
}
