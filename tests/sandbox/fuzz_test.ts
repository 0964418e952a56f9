import { assertEquals } from '@std/assert'
import { decodeValue } from '../../src/values/decode.ts'
import { encodeValue, joinMessage } from '../../src/values/encode.ts'
import { ValueError } from '../../src/values/format.ts'
import { cleanStack } from '../../src/sandbox/stack.ts'
import { isQuick } from '../tiers.ts'

const FRAMES = isQuick() ? 20_000 : 100_000

/** Mulberry32: the same numbers in every run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = state + 0x6d2b79f5 | 0
    let t = Math.imul(state ^ state >>> 15, 1 | state)
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t
    return ((t ^ t >>> 14) >>> 0) % below
  }
}

const seeds = [
  { a: [1, 'two', null, undefined, -0, NaN], b: new Map<unknown, unknown>([[1, 2n], ['k', new Set([1])]]) },
  [true, { list: [1, , 3], when: new Date(1), re: /a+/g, bytes: new Uint8Array([1, 2, 3]), n: -255n }],
  [false, new AggregateError([new TypeError('x', { cause: 1 })], 'all')],
  [Object(1), new Float64Array([1.5]), new DataView(new ArrayBuffer(4)), new ArrayBuffer(3)],
].map((value) => joinMessage(encodeValue(value, { stacks: true })))
const TOKENS = [
  '[',
  ']',
  ',',
  '"',
  '0',
  '1',
  '-',
  '"o"',
  '"h"',
  '"t"',
  '"e"',
  '["u"]',
  '99999',
  '\0',
  '{}',
  '__proto__',
]

Deno.test('a changed message is a value or a ValueError, and what it makes can be told again', () => {
  const random = randomFrom(20_261_122)
  const encoder = new TextEncoder()
  let values = 0
  for (let i = 0; i < FRAMES; i++) {
    let bytes = seeds[random(seeds.length)].slice()
    for (let changes = 1 + random(4); changes > 0; changes--) {
      const at = random(bytes.length)
      switch (random(4)) {
        case 0:
          bytes[at] = random(256)
          break
        case 1:
          bytes = bytes.slice(0, at + 1)
          break
        case 2:
          bytes = bytes.slice(at)
          break
        default: {
          const token = encoder.encode(TOKENS[random(TOKENS.length)])
          const next = new Uint8Array(bytes.length + token.length)
          next.set(bytes.subarray(0, at))
          next.set(token, at)
          next.set(bytes.subarray(at), at + token.length)
          bytes = next
        }
      }
      if (bytes.length === 0) bytes = encoder.encode('[')
    }
    try {
      const value = decodeValue(bytes, { toStack: cleanStack })
      values++
      const again = decodeValue(joinMessage(encodeValue(value, { stacks: true })))
      assertEquals(typeof again, typeof value)
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
    }
  }
  // Some of them must come through, or nothing was tried.
  assertEquals(values > FRAMES / 200, true, `${values} values of ${FRAMES} frames`)
})
