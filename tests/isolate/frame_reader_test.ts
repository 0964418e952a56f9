/** Frames out of a stream that anybody may write. */
import { assertEquals } from '@std/assert'
import { type FrameRead, FrameReader } from '../../src/isolate/processes/frame_reader.ts'
import { HEAD_BYTES, makeFrame, REQUEST, RESPONSE } from '../../src/isolate/wire/wire.ts'

const LIMITS = { header: 64, body: 128 }
const encoder = new TextEncoder()
const FRAME = makeFrame(RESPONSE, encoder.encode('{"status":200}'), encoder.encode('the body'))

/** Reads the frames of a stream that comes in these pieces. */
async function readAll(pieces: readonly Uint8Array<ArrayBuffer>[], count: number): Promise<FrameRead[]> {
  const reader = new FrameReader(ReadableStream.from(pieces))
  const reads: FrameRead[] = []
  for (let i = 0; i < count; i++) reads.push(await reader.read(LIMITS))
  await reader.cancel()
  return reads
}

function told(read: FrameRead): string {
  return read.kind === 'refused' ? read.error.field : read.kind
}

Deno.test('a frame is whole however its bytes come', async () => {
  for (let cut = 1; cut < FRAME.length; cut++) {
    const [first, second] = await readAll([FRAME.slice(0, cut), FRAME.slice(cut)], 2)
    assertEquals(first, { kind: 'frame', bytes: FRAME }, `cut at ${cut}`)
    assertEquals(second, { kind: 'end' })
  }
  const single = [...FRAME].map((byte) => Uint8Array.of(byte))
  assertEquals(await readAll(single, 1), [{ kind: 'frame', bytes: FRAME }])
  assertEquals(await readAll([FRAME, FRAME], 2), [
    { kind: 'frame', bytes: FRAME },
    { kind: 'frame', bytes: FRAME },
  ])
})

Deno.test('the end before a whole frame is told, wherever it comes', async () => {
  for (let length = 0; length < FRAME.length; length++) {
    assertEquals(await readAll(length === 0 ? [] : [FRAME.slice(0, length)], 1), [{ kind: 'end' }])
  }
})

Deno.test('what is no frame within the limits is refused by its first wrong field', async () => {
  const with_ = (at: number, ...bytes: number[]) => {
    const changed = FRAME.slice()
    changed.set(bytes, at)
    return changed
  }
  const over = makeFrame(RESPONSE, new Uint8Array(0), new Uint8Array(LIMITS.body + 1))
  const wide = makeFrame(RESPONSE, new Uint8Array(LIMITS.header + 1), new Uint8Array(0))
  const cases: readonly (readonly [field: string, bytes: Uint8Array<ArrayBuffer>])[] = [
    ['magic', encoder.encode('console.log was here, and more of it')],
    ['version', with_(4, 9)],
    ['kind', makeFrame(REQUEST, encoder.encode('{}'), new Uint8Array(0))],
    ['flags', with_(6, 1)],
    ['header', wide],
    ['body', over],
    ['body', with_(12, 255, 255, 255, 255)],
    ['trailing', Uint8Array.from([...FRAME, 1])],
    ['trailing', Uint8Array.from([...FRAME, ...FRAME])],
  ]
  for (const [field, bytes] of cases) {
    assertEquals((await readAll([bytes], 1)).map(told), [field])
    // No more than the head is needed to refuse a body.
    if (field === 'body') assertEquals((await readAll([bytes.slice(0, HEAD_BYTES)], 1)).map(told), [field])
  }
})
