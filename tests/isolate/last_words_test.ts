import { assertEquals } from '@std/assert'
import { beforeLastWords } from '../../src/isolate/processes/last_words.ts'

const COLLECTIONS = '<--- Last few GCs --->\n[1] Mark-Compact\n'
const FATAL = '#\n# Fatal JavaScript out of memory: Reached heap limit\n#\n'

const ROWS: readonly [log: string, before: string | null][] = [
  ['', null],
  ['a handler said: out of memory', null],
  [`${COLLECTIONS}no word of memory`, null],
  [`one\ntwo\n\n${COLLECTIONS}${FATAL}`, 'one\ntwo'],
  [`one${FATAL}${COLLECTIONS}`, 'one'],
  [FATAL, ''],
  ['one\nFatal process out of memory', 'one\nFatal process out of memory'],
]

for (const [log, before] of ROWS) {
  Deno.test(`beforeLastWords of ${JSON.stringify(log)}`, () => assertEquals(beforeLastWords(log), before))
}
