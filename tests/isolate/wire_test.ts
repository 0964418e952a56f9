import { assert, assertEquals, assertThrows } from '@std/assert'
import {
  BODY_MAX,
  FrameError,
  type FrameKind,
  HEAD_BYTES,
  HEADER_MAX,
  makeFrame,
  MESSAGE,
  readFrame,
  readHead,
  REQUEST,
  RESPONSE,
} from '../../src/isolate/wire/wire.ts'
import { RandomSource } from './random_source.ts'

interface Vector {
  readonly name: string
  readonly kind: 'request' | 'response' | 'message'
  readonly limits: { readonly header: number; readonly body: number }
  readonly hex: string
  readonly header_bytes?: number
  readonly body_bytes?: number
  readonly error?: string
  readonly found?: number
}

const KINDS = { request: REQUEST, response: RESPONSE, message: MESSAGE } as const

Deno.test('readFrame judges every test vector as the crate does', async () => {
  const path = new URL('./wire_vectors.json', import.meta.url)
  const vectors: Vector[] = JSON.parse(await Deno.readTextFile(path))
  assert(vectors.length > 20)
  for (const { name, kind, limits, hex, header_bytes, body_bytes, error, found } of vectors) {
    const bytes = Uint8Array.fromHex(hex)
    if (error === undefined) {
      const { header, body } = readFrame(bytes, KINDS[kind], limits)
      assertEquals([header.length, body.length], [header_bytes, body_bytes], name)
      assertEquals(makeFrame(KINDS[kind], header, body), bytes, name)
    } else {
      const thrown = assertThrows(() => readFrame(bytes, KINDS[kind], limits), FrameError, undefined, name)
      assertEquals([thrown.field, thrown.found], [error, found ?? 0], name)
    }
  }
})

Deno.test('makeFrame and readFrame are inverse, and no prefix and no longer text is a frame', () => {
  const random = new RandomSource(1)
  for (let round = 0; round < 300; round++) {
    const kind = random.pick<FrameKind>([REQUEST, RESPONSE])
    const header = random.bytes(random.below(40))
    const body = random.bytes(random.below(60))
    const frame = makeFrame(kind, header, body)
    assertEquals(readFrame(frame, kind), { header, body })
    assertEquals(readHead(frame, kind), { headerBytes: header.length, bodyBytes: body.length })
    const cut = random.below(frame.length)
    const missing = assertThrows(() => readFrame(frame.slice(0, cut), kind), FrameError)
    assertEquals(missing.field, 'cut')
    const end = HEAD_BYTES + (cut < HEAD_BYTES ? 0 : header.length + body.length)
    assertEquals(missing.found, end - cut)
    const longer = assertThrows(() => readFrame(new Uint8Array([...frame, 0]), kind), FrameError)
    assertEquals([longer.field, longer.found], ['trailing', 1])
  }
})

Deno.test('readFrame refuses a changed bit in the fixed fields, and noise, with a FrameError', () => {
  const random = new RandomSource(2)
  const frame = makeFrame(REQUEST, random.bytes(5), random.bytes(7))
  for (let bit = 0; bit < 64; bit++) {
    const bad = frame.slice()
    bad[bit >> 3] ^= 1 << (bit & 7)
    assertThrows(() => readFrame(bad, REQUEST), FrameError)
  }
  let whole = 0
  for (let round = 0; round < 20_000; round++) {
    const noise = random.bytes(random.below(48))
    const known = random.below(9)
    noise.set(frame.subarray(0, Math.min(known, noise.length)))
    try {
      const { header, body } = readFrame(noise, REQUEST, { header: 30, body: 30 })
      assertEquals(makeFrame(REQUEST, header, body), noise)
      whole++
    } catch (error) {
      assert(error instanceof FrameError, String(error))
    }
  }
  assert(whole < 10)
})

Deno.test('makeFrame refuses parts over their limits', () => {
  const none = new Uint8Array(0)
  assertThrows(
    () => makeFrame(REQUEST, new Uint8Array(HEADER_MAX + 1), none),
    RangeError,
    'header of 1048577 bytes, wanted at most 1048576',
  )
  assertThrows(
    () => makeFrame(RESPONSE, none, new Uint8Array(5), { header: 0, body: 4 }),
    RangeError,
    'body of 5 bytes, wanted at most 4',
  )
  assertEquals(makeFrame(RESPONSE, none, new Uint8Array(4), { header: 0, body: 4 }).length, HEAD_BYTES + 4)
  assert(HEAD_BYTES + HEADER_MAX + BODY_MAX < 2 ** 32)
})
