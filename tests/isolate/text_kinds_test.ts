import { assert, assertEquals } from '@std/assert'
import { parse } from 'acorn'
import { transform } from 'esbuild'
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
    'json',
  ]],
  ['const rows = parseCSV(await ctx.get.text())', ['csv']],
  ['return ctx.send.html(await ctx.get.text())', ['prose', 'prose', 'json']],
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
    assert(texts.size >= 4, kind)
    assert(!texts.has(sampleText([kind as TextKind], -1)), kind)
  }
})

Deno.test('texts are whole and sound where they are not cut off', async () => {
  for (const turn of [0, 2, 5]) {
    JSON.parse(sampleText(['json'], turn))
    parse(sampleText(['script'], turn), { ecmaVersion: 'latest', sourceType: 'module' })
    for (const [kind, loader] of [['script', 'js'], ['typed', 'ts'], ['css', 'css']] as const) {
      if (kind === 'css' && turn === 5) continue
      const { warnings } = await transform(sampleText([kind], turn), { loader, logLevel: 'silent' })
      assertEquals(
        warnings.map(({ text }) => text).filter((text) => /syntax/i.test(text)),
        [],
        `${kind} ${turn}`,
      )
    }
  }
  parse(sampleText(['script'], 5), { ecmaVersion: 5 })
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
