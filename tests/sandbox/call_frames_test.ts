/** Frames that ask a program: a warm-up's are those of a request, to the order of members, as V8 takes another order for another shape. */
import { assertEquals } from '@std/assert'
import { type Call, type CallMessage, fromCallMessage } from '../../src/sandbox/message.ts'
import { toCallFrame, toFetchFrame } from '../../src/sandbox/runner.ts'
import { decodeValue } from '../../src/values/decode.ts'

/** The value in a frame's body. */
function bodyOf(frame: Uint8Array<ArrayBuffer>): object {
  const lengths = new DataView(frame.buffer, frame.byteOffset)
  return decodeValue(frame.subarray(16 + lengths.getUint32(8, true))) as object
}

Deno.test('a call comes as it was told: nothing is not null, and props are as they were', () => {
  const program = { main: 'a.js', modules: [['a.js', 'js', '1']] } as const
  const machine = { program: undefined, env: undefined, reach: undefined }
  const calls: Call[] = [
    { ...machine, entrypoint: null, method: undefined, args: [], props: undefined },
    { ...machine, entrypoint: 'default', method: 'f', args: [1, 'a', null], props: null },
    { ...machine, program, env: { a: 1 }, entrypoint: 'x', method: undefined, args: [], props: { b: [2] } },
    { ...machine, entrypoint: 'x', method: undefined, args: [undefined, new Map()], props: [] },
  ]
  for (const call of calls) {
    assertEquals(fromCallMessage(bodyOf(toCallFrame(call)) as unknown as CallMessage), call)
  }
})

Deno.test('a request has its members in one order, in whatever order they were given', () => {
  const request = new Request('http://sandbox/')
  const given = { entrypoint: 'default', body: new Uint8Array([1]) }
  const machine = { program: undefined, env: undefined, props: undefined, reach: undefined }
  const [one, other] = [{ ...given, ...machine }, { ...machine, ...given }].map((call) =>
    Object.keys(bodyOf(toFetchFrame(request, call)))
  )
  assertEquals(one, other)
})
