/** Frames that nobody's code made, on both sides. */
import { assert, assertEquals } from '@std/assert'
import { SandboxError } from '@mayfly/mayfly/sandbox'
import { joinBytes } from '../../src/context/join_bytes.ts'
import type { Completion } from '../../src/isolate/machines/completion.ts'
import { MachineReset } from '../../src/isolate/machines/machine_reset.ts'
import { makeFrame, RESPONSE } from '../../src/isolate/wire/wire.ts'
import { type GuestProgram, toCallMessage } from '../../src/sandbox/message.ts'
import { remainsOf, takeResponse, takeValue } from '../../src/sandbox/answer.ts'
import { createRunner } from '../../src/sandbox/guest/runner.ts'
import { resolveLimits } from '../../src/sandbox/limits.ts'
import { decodeValue } from '../../src/values/decode.ts'
import { encodeValue, joinMessage } from '../../src/values/encode.ts'
import { ValueError } from '../../src/values/format.ts'
import { cleanStack } from '../../src/sandbox/stack.ts'

const FRAMES = 100_000

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
  [true, { list: [1, , 3], when: new Date(1), re: /a+/g, bytes: new Uint8Array([1, 2, 3]), n: -255n }, 1.5],
  [false, new AggregateError([new TypeError('x', { cause: 1 })], 'all'), 0],
  [Object(1), new Float64Array([1.5]), new DataView(new ArrayBuffer(4)), new ArrayBuffer(3)],
  [true, { list: [1, 'two', null], deep: [[{ n: -1.5 }]] }, 2],
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
  '=',
  '__proto__',
]

const text = new TextEncoder()

/** Bytes with one to four changes: others, fewer, or a token more. */
function change(given: Uint8Array<ArrayBuffer>, random: (below: number) => number): Uint8Array<ArrayBuffer> {
  let bytes = given.slice()
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
      default:
        bytes = joinBytes([
          bytes.subarray(0, at),
          text.encode(TOKENS[random(TOKENS.length)]),
          bytes.subarray(at),
        ])
    }
    if (bytes.length === 0) bytes = text.encode('[')
  }
  return bytes
}

Deno.test('a changed message is a value or a ValueError, and what it makes can be told again', () => {
  const random = randomFrom(20_261_122)
  let values = 0
  for (let i = 0; i < FRAMES; i++) {
    try {
      const value = decodeValue(change(seeds[random(seeds.length)]!, random), { toStack: cleanStack })
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

Deno.test('a changed answer of a machine is a value, a response or a SandboxError', () => {
  const random = randomFrom(12)
  const limits = resolveLimits('deno', { outputBytes: 65_536 })
  const heads = [
    '{"status":200,"headers":[["content-type","text/plain"],["set-cookie","a=b"]]}',
    '{"status":204,"statusText":"Nothing","headers":[]}',
    '{"error":{"name":"TypeError","message":"no","stack":"TypeError: no\\n    at f (file:///app/main.js:1:2)","cause":{"name":"Error","message":"why"}}}',
    '{"status":302,"headers":[["location","/x"]],"pending":{"single":[["a","b"]],"appended":[]}}',
  ]
  const frames = heads.flatMap((head) => seeds.map((body) => makeFrame(RESPONSE, text.encode(head), body)))
  let taken = 0
  for (let i = 0; i < FRAMES; i++) {
    const [head, body] = [heads[random(heads.length)]!, seeds[random(seeds.length)]!]
    const frame = random(3) === 0
      ? change(frames[random(frames.length)]!, random)
      // The frame itself is whole, and what is in it is not.
      : makeFrame(
        RESPONSE,
        random(2) === 0 ? change(text.encode(head), random) : text.encode(head),
        change(body, random),
      )
    for (const take of [takeValue, takeResponse]) {
      const completion = toCompletion(frame)
      try {
        take(limits, completion, remainsOf(completion, false))
        taken++
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error
      }
    }
  }
  assertEquals(taken > FRAMES / 20, true, `${taken} answers of ${FRAMES} frames`)
})

Deno.test('a changed call is answered, or refused with an error', async () => {
  const random = randomFrom(2026)
  const namespace = {
    f: (...args: unknown[]) => args,
    default: class {
      fetch = () => new Response('x')
      f = (...args: unknown[]) => args
    },
  }
  const runner = await createRunner(
    () => Promise.resolve(namespace),
    null,
    () => ({ env: {}, fetch }),
    () => {},
  )
  const program: GuestProgram = { main: 'a.js', modules: [['a.js', 'js', 'code']] }
  const common = { program, entrypoint: 'default', env: { A: 1 }, props: { b: [2] } }
  const machine = { ...common, reach: undefined }
  const calls = [
    toCallMessage({ ...machine, entrypoint: 'f', method: undefined, args: [1, new Map([[1, 2]])] }),
    toCallMessage({ ...machine, method: 'f', args: [new Uint8Array(3)] }),
    toCallMessage({ ...machine, method: 'f', args: [{ a: [1, 'b'] }] }),
    toCallMessage({ ...machine, entrypoint: null, method: undefined, args: [] }),
    { ...common, body: new Uint8Array([1, 2]) },
  ].map((call) => joinMessage(encodeValue(call, { stacks: false })))
  let answered = 0
  for (let i = 0; i < FRAMES; i++) {
    const which = random(calls.length)
    const body = change(calls[which]!, random)
    const ctx = {
      head: { body },
      request: new Request('http://a.b/'),
      send: { text: (text: string) => new Response(text) },
    }
    if (which === calls.length - 1) {
      const response = await runner.fetch(ctx).catch((error) => error)
      assert(response instanceof Response || response instanceof Error, Deno.inspect(response))
      continue
    }
    const answer = decodeValue(await (await runner.call(ctx)).bytes()) as [boolean, unknown]
    assertEquals([Array.isArray(answer), typeof answer[0]], [true, 'boolean'])
    if (answer[0]) answered++
  }
  assertEquals(answered > FRAMES / 200, true, `${answered} answers of ${FRAMES} calls`)
})

function toCompletion(frame: Uint8Array<ArrayBuffer>): Completion {
  const none = new Uint8Array(0)
  return {
    outcome: 'answered',
    frame,
    log: none,
    logDropped: 0,
    message: '',
    denials: [],
    detail: 0,
    queueUs: 1,
    runUs: 2,
    exits: 3,
    parks: 0,
    parkedUs: 0,
    said: 0,
    heard: 0,
    reset: new MachineReset('clean', 4, 5),
    worker: 0,
  }
}
