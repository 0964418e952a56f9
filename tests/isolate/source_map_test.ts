import { assert, assertEquals, assertThrows } from '@std/assert'
import { decodeMappings, originalPosition, parseSourceMap } from '../../src/compiler/source_map.ts'
import { RandomSource } from './random_source.ts'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The naive way round: numbers to base 64 digits. */
function encode(value: number): string {
  let rest = value < 0 ? BigInt(-value) * 2n + 1n : BigInt(value) * 2n
  let text = ''
  do {
    const digit = Number(rest % 32n)
    rest /= 32n
    text += DIGITS[digit + (rest > 0n ? 32 : 0)]
  } while (rest > 0n)
  return text
}

Deno.test('decodeMappings undoes an encoder over random maps', () => {
  const random = new RandomSource(4)
  for (let round = 0; round < 200; round++) {
    const lines = Array.from({ length: random.below(6) + 1 }, () => {
      let generated = 0
      return Array.from({ length: random.below(5) }, () => {
        generated += random.below(2000)
        return [generated, random.below(9), random.below(1_000_000), random.below(100_000)]
      })
    })
    let last = [0, 0, 0, 0]
    const text = lines.map((line) => {
      last = [0, ...last.slice(1)]
      return line.map((segment) => {
        const parts = segment.map((value, index) => encode(value - last[index]))
        last = segment
        return parts.join('') + (random.below(3) === 0 ? encode(0) : '')
      }).join(',')
    }).join(';')
    assertEquals(decodeMappings(text), lines.map((line) => line.flat()), text)
  }
})

Deno.test('originalPosition finds the last segment at or before a column', () => {
  const map = { sources: ['a.ts', 'b.ts'], lines: [[], [4, 0, 1, 2, 10, 1, 5, 0]] }
  const at = (line: number, column: number) => originalPosition(map, line, column)
  assertEquals(at(1, 1), null)
  assertEquals(at(2, 4), null)
  assertEquals(at(2, 5), { source: 'a.ts', line: 2, column: 3 })
  assertEquals(at(2, 10), { source: 'a.ts', line: 2, column: 3 })
  assertEquals(at(2, 11), { source: 'b.ts', line: 6, column: 1 })
  assertEquals(at(2, 999), { source: 'b.ts', line: 6, column: 1 })
  assertEquals(at(3, 1), null)
})

Deno.test('originalPosition agrees with a linear search', () => {
  const random = new RandomSource(5)
  for (let round = 0; round < 300; round++) {
    let column = 0
    const segments: number[] = []
    for (let i = random.below(12); i > 0; i--) {
      segments.push(column += random.below(9), 0, random.below(50), 0)
    }
    const wanted = random.below(60) + 1
    let found: number | null = null
    for (let i = 0; i < segments.length; i += 4) if (segments[i] < wanted) found = segments[i + 2] + 1
    assertEquals(originalPosition({ sources: ['a'], lines: [segments] }, 1, wanted)?.line ?? null, found)
  }
})

Deno.test('malformed maps are refused with a TypeError', () => {
  for (const text of ['!', 'A!', 'g', 'AAgg', 'ggggggggggA', ',', 'A,,A', 'é']) {
    assertThrows(() => decodeMappings(text), TypeError, 'malformed segment', text)
  }
  for (
    const map of [
      '{"version":2,"sources":[],"mappings":""}',
      '{"version":3,"mappings":""}',
      '{"version":3,"sources":[]}',
    ]
  ) {
    assertThrows(() => parseSourceMap(map), TypeError, 'Reading a source map')
  }
  const random = new RandomSource(6)
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: random.below(20) }, () => random.pick([...DIGITS, ';', ',', '!'])).join(
      '',
    )
    try {
      assert(decodeMappings(text).length > 0)
    } catch (error) {
      assert(error instanceof TypeError, `${text}: ${error}`)
    }
  }
})
