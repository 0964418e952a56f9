import { assertEquals, assertMatch } from '@std/assert'
import { toPrintable } from '../../src/errors/printable.ts'

const ROWS: readonly [given: string, wanted: string][] = [
  ['', ''],
  ['plain, größer, 漢字, 🐝\n\tand indented', 'plain, größer, 漢字, 🐝\n\tand indented'],
  ['\x1b[31mred\x1b]0;title\x07', '\\x1b[31mred\\x1b]0;title\\x07'],
  ['\x00\x08\r\x7f\x80\x85\x9b2J', '\\x00\\x08\\x0d\\x7f\\x80\\x85\\x9b2J'],
  ['a\u202egnp.exe\u2066\u2069\u200f\u061c', 'a\\u202egnp.exe\\u2066\\u2069\\u200f\\u061c'],
  ['a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
]

for (const [given, wanted] of ROWS) {
  Deno.test(`toPrintable of ${JSON.stringify(given)}`, () => assertEquals(toPrintable(given), wanted))
}

Deno.test('toPrintable leaves no control character but line feeds and tabs', () => {
  const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join('')
  assertMatch(toPrintable(all), /^(?:[\n\t]|[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}])*$/u)
})
