import { assert, assertEquals } from '@std/assert'
import { findTextKinds, sampleText } from '../../src/isolate/hints/text_kinds.ts'
import { TEXT_SAMPLES, type TextKind } from '../../src/isolate/hints/text_samples.ts'
import { matchPattern } from '../../src/isolate/hints/pattern_text.ts'
import { toTokens } from '../../src/isolate/hints/tokens.ts'

const kinds: [source: string, kinds: TextKind[]][] = [
  ["import { marked } from 'marked'", ['markdown']],
  ["import render from './lib/markdown.ts'", ['markdown']],
  ["import * as cheerio from 'npm:cheerio'; import { x } from './types.ts'", ['html']],
  ["import YAML from 'yaml'", ['yaml']],
  ["import { parse } from 'csv-parse/sync'", ['csv']],
  ["import { parsePhoneNumber } from 'libphonenumber-js'; import a from '~/texts.ts'", [
    'prose',
    'prose',
    'prose',
    'json',
  ]],
  ['const rows = parseCSV(await ctx.get.text())', ['csv']],
  ['return ctx.send.html(await ctx.get.text())', ['prose', 'prose', 'prose', 'json']],
  ['const a = JSON.parse(await ctx.get.text())', ['json']],
  ["import { format } from 'sql-formatter'; import postcss from 'postcss'", ['sql', 'css']],
]
for (const [source, wanted] of kinds) {
  Deno.test(`kinds of text of: ${source}`, () => assertEquals(findTextKinds(toTokens(source)), wanted))
}

Deno.test('texts say that they are the warm-up’s, and requests bring whole ones and parts', () => {
  for (const [kind, text] of Object.entries(TEXT_SAMPLES)) {
    assert(/warm-?up|927687/i.test(text) || kind === 'graphql' || kind === 'math', kind)
    const texts = new Set(Array.from({ length: 8 }, (_, turn) => sampleText([kind as TextKind], turn)))
    assertEquals(texts.size, 5, kind)
    assert(!texts.has(sampleText([kind as TextKind], -1)), kind)
  }
})

Deno.test('a text that matches a simple pattern', () => {
  for (
    const pattern of [
      '^\\d{5}$',
      '^[A-Z]-\\d+$',
      '^[a-z0-9]{8,}$',
      '^[\\w.]+@x\\.de$',
      'a?b*c+.',
      '^\\+49 \\d{3,}$',
    ]
  ) {
    for (const turn of [0, 1, 2, 3]) {
      const text = matchPattern(pattern, turn)!
      assert(new RegExp(pattern, 'u').test(text), `${pattern}: ${text}`)
    }
  }
  for (const pattern of ['^(a|b)$', '[^a]', '\\d{900}', '[', 'x'.repeat(300), '(?=a)']) {
    assertEquals(matchPattern(pattern, 0), undefined, pattern)
  }
})
