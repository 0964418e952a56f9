import { assert, assertEquals } from '@std/assert'
import { highlight, type Language, languageOf, tokenize } from '../../routes/_lib/highlight.ts'

const LANGUAGES: readonly Language[] = ['ts', 'js', 'dve', 'json', 'sh', 'http', 'text']

function kinds(source: string, language: Language): string {
  return tokenize(source, language).map(({ text, kind }) => kind === undefined ? text : `${kind}‹${text}›`)
    .join('')
}

Deno.test('tokenize colours TypeScript by its words', () => {
  assertEquals(
    kinds('export const a: Handler = (ctx) => ctx.send.json({ n: 12 }) // done', 'ts'),
    'k‹export› k‹const› a: t‹Handler› = (ctx) => ctx.send.f‹json›({ n: n‹12› }) c‹// done›',
  )
  assertEquals(kinds('a.default / b / c', 'ts'), 'a.default / b / c')
  assertEquals(kinds("x = /[/']\\/'/g.test(y)", 'ts'), "x = s‹/[/']\\/'/g›.f‹test›(y)")
  assertEquals(kinds('`a${b + `c${d}`}e`', 'ts'), 's‹`a${›b + s‹`c${›ds‹}`}e`›')
})

Deno.test('tokenize colours templates, JSON and shell', () => {
  assertEquals(
    kinds(`<p class="x">{{ a ?? '}}' }}</p>{{!-- no --}}`, 'dve'),
    `g‹<p› class="x"g‹>›d‹{{ a ?? '}}' }}›g‹</p>›c‹{{!-- no --}}›`,
  )
  assertEquals(kinds('{"a": [1, true, "b"]}', 'json'), '{t‹"a"›: [n‹1›, k‹true›, s‹"b"›]}')
  assertEquals(kinds("deno run 'a b' # go", 'sh'), "deno run s‹'a b'› c‹# go›")
})

Deno.test('tokenize keeps every character, whatever the input', () => {
  const pieces = [
    '`',
    '${',
    '}',
    '{{',
    '}}',
    "'",
    '"',
    '/',
    '*',
    '\\',
    '\n',
    '<',
    '>',
    '&',
    'if',
    'x',
    ' ',
    '1',
    '--',
    '[',
    ']',
    'é',
    '𝒳',
  ]
  let seed = 11
  const next = () => seed = seed * 1103515245 + 12345 & 0x7fffffff
  for (let round = 0; round < 3000; round++) {
    let source = ''
    for (let i = next() % 24; i > 0; i--) source += pieces[next() % pieces.length]
    for (const language of LANGUAGES) {
      assertEquals(tokenize(source, language).map(({ text }) => text).join(''), source)
    }
  }
})

Deno.test('highlight gives nothing but spans and escaped text', async () => {
  const root = new URL('../../', import.meta.url)
  for (const path of ['routes/_site.ts', 'routes/_lib/highlight.ts', 'views/templates.dve', 'deno.json']) {
    const source = await Deno.readTextFile(new URL(path, root))
    const html = highlight(source, languageOf(path))
    const text = html.replace(/<span class="[ksntfcgd]">|<\/span>/g, '')
    assert(!/[<>]/.test(text))
    assertEquals(unescape(text), source)
  }
})

Deno.test('highlight of a long hostile line takes time in proportion to its length', () => {
  const hostile = [
    '{'.repeat(50_000),
    '/'.repeat(50_000),
    "'\\".repeat(50_000),
    '{{'.repeat(50_000),
    '`${'.repeat(500),
  ]
  for (const source of hostile) {
    for (const language of LANGUAGES) assert(highlight(source, language).length >= source.length)
  }
})

function unescape(text: string): string {
  return text.replace(
    /&(?:lt|gt|quot|#39|#x27|amp);/g,
    (entity) =>
      ({ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&#x27;': "'", '&amp;': '&' })[entity]!,
  )
}
