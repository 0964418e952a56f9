import { assertEquals } from '@std/assert'
import { originalPosition, parseSourceMap } from '../../src/compiler/source_map.ts'

/** Line 2: from column 5 on `a.ts` 2:3, from 11 on `b.ts` 6:1, from 21 on no source. */
const MAP = JSON.stringify({ version: 3, sources: ['a.ts', '../b.ts'], names: [], mappings: ';IACE,MCIF,U' })

Deno.test('originalPosition finds the last segment at or before a column', () => {
  const map = parseSourceMap(MAP)
  const at = (line: number, column: number) => originalPosition(map, line, column)
  assertEquals(at(1, 1), null)
  assertEquals(at(2, 4), null)
  assertEquals(at(2, 5), { source: 'a.ts', line: 2, column: 3 })
  assertEquals(at(2, 10), { source: 'a.ts', line: 2, column: 3 })
  assertEquals(at(2, 11), { source: '../b.ts', line: 6, column: 1 })
  assertEquals(at(2, 21), null)
  assertEquals(at(3, 1), null)
})
