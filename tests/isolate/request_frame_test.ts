import { assertEquals, assertMatch } from '@std/assert'
import type { RequestHead } from '../../src/isolate/message.ts'
import { createSeed, encodeRequest } from '../../src/isolate/request_frame.ts'
import { readFrame, REQUEST } from '../../src/isolate/wire.ts'

Deno.test('createSeed never gives a seed twice', () => {
  const seeds = Array.from({ length: 1000 }, createSeed)
  for (const seed of seeds) assertMatch(seed, /^[0-9a-f]{64}$/)
  assertEquals(new Set(seeds).size, seeds.length)
})

Deno.test('encodeRequest gives heads of any length their own bytes', () => {
  const decoder = new TextDecoder()
  const heads = [10, 5000, 5460, 6000, 100_000].flatMap((length) =>
    ['x', 'é', '€'].map((letter): RequestHead => ({
      handler: 0,
      method: 'GET',
      url: `http://localhost/${letter.repeat(length)}`,
      path: '/',
      headers: [],
      seed: createSeed(),
    }))
  )
  // All are made before one is read: a later one must not change an earlier one.
  const frames = heads.map((head) => encodeRequest(head, new Uint8Array([1, 2])))
  frames.forEach((bytes, index) => {
    const { header, body } = readFrame(bytes, REQUEST)
    assertEquals<unknown>(JSON.parse(decoder.decode(header)), heads[index])
    assertEquals(body, new Uint8Array([1, 2]))
  })
})
