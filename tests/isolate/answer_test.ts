import { assert, assertEquals, assertInstanceOf, assertThrows } from '@std/assert'
import { HttpError } from '../../src/errors/http_error.ts'
import type { ErrorData } from '../../src/isolate/wire/message.ts'
import { AnswerError, decodeDescription, decodeResponse } from '../../src/isolate/wire/response_frame.ts'
import { createStackMapper, GuestError, mapStack, toHostError } from '../../src/isolate/plan/stack.ts'
import { FrameError, makeFrame, RESPONSE, WIDEST } from '../../src/isolate/wire/wire.ts'
import { RandomSource } from './random_source.ts'

const encoder = new TextEncoder()

function toBytes(header: string, body = ''): Uint8Array<ArrayBuffer> {
  return makeFrame(RESPONSE, encoder.encode(header), encoder.encode(body))
}

const PLAIN = { status: 200, headers: [['a', 'b']] }
const ERROR = { name: 'Error', message: 'm' }

Deno.test('decodeResponse gives what a guest may say', () => {
  const heads: Record<string, unknown>[] = [
    PLAIN,
    { status: 599, statusText: 'So so', headers: [] },
    {
      ...PLAIN,
      pending: { single: [['x', '1']], appended: [['set-cookie', 'a=b']] },
      session: { data: null },
      setStatus: 204,
    },
    { view: { name: 'a', options: { status: 201, stream: true, headers: [] } } },
    { error: { ...ERROR, stack: 's', cause: ERROR, http: { status: 400, type: 't', headers: { a: 'b' } } } },
  ]
  for (const head of heads) {
    const { head: got, body } = decodeResponse(toBytes(JSON.stringify(head), 'body'), WIDEST)
    assertEquals<unknown>(got, head)
    assertEquals(body, encoder.encode('body'))
  }
  assertEquals<unknown>(decodeResponse(toBytes('{"view":{"name":"a"},"other":1}'), WIDEST).head, {
    view: { name: 'a', options: {} },
  })
})

Deno.test('decodeResponse refuses every member that is not as it should be', () => {
  const heads: [head: unknown, text: string][] = [
    [[], 'the header is an array of 0, want an object'],
    [{}, 'status is undefined, want an integer from 200 to 599'],
    [{ ...PLAIN, status: 101 }, 'status is 101'],
    [{ ...PLAIN, status: '200' }, 'status is "200"'],
    [{ status: 200 }, 'headers is undefined, want an array of pairs'],
    [{ status: 200, headers: [['a']] }, 'headers is an array of 1, want a pair'],
    [{ status: 200, headers: [['a', 1]] }, 'want a pair'],
    [{ status: 200, headers: [['a b', 'c']] }, 'a name in headers is "a b", want the name of a header'],
    [{ status: 200, headers: [['a', 'b\nc: d']] }, 'a value in headers is "b\\nc: d"'],
    [{ status: 200, headers: [['a', '\u{1f41d}']] }, 'want the value of a header'],
    [{ status: 200, headers: pairs(257) }, 'headers is an array of 257, want at most 256'],
    [{ ...PLAIN, pending: { single: pairs(257), appended: [] } }, 'pending.single is an array of 257'],
    [
      { status: 200, headers: pairs(100), pending: { single: pairs(100), appended: pairs(100) } },
      'the number of headers is 300, want at most 256',
    ],
    [{ view: { name: 'x'.repeat(1025) } }, 'xxx"..., want at most 1024 characters'],
    [{ ...PLAIN, statusText: 'a\r\nb' }, 'statusText is'],
    [{ ...PLAIN, pending: {} }, 'pending.single is undefined'],
    [{ ...PLAIN, pending: { single: [], appended: [['', '']] } }, 'a name in pending.appended is ""'],
    [{ ...PLAIN, session: {} }, 'session.data is undefined'],
    [{ ...PLAIN, session: 5 }, 'session is 5'],
    [{ ...PLAIN, state: [] }, 'state is an array of 0'],
    [{ ...PLAIN, setStatus: 99 }, 'setStatus is 99'],
    [{ view: { name: 5 } }, 'view.name is 5'],
    [{ view: { name: '', options: { stream: 1 } } }, 'view.options.stream is 1'],
    [{ error: 5 }, 'error is 5'],
    [{ error: { name: 'a' } }, 'error.message is undefined'],
    [{ error: { ...ERROR, message: 'x'.repeat(9000) } }, 'text of at most 8192 characters'],
    [{ error: { ...ERROR, http: { status: 200, type: '' } } }, 'error.http.status is 200'],
    [{ error: { ...ERROR, http: { status: 400, type: '', headers: { a: 5 } } } }, 'want a pair'],
    [{ error: { ...ERROR, cause: { name: 5 } } }, 'error.name is 5'],
  ]
  for (const [head, text] of heads) {
    assertThrows(
      () => decodeResponse(toBytes(JSON.stringify(head)), WIDEST),
      AnswerError,
      text,
      JSON.stringify(head),
    )
  }
  assertThrows(() => decodeResponse(toBytes('{"status"'), WIDEST), FrameError, 'no JSON')
  const nested = (depth: number) =>
    `{"status":200,"headers":[],"state":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`
  decodeResponse(toBytes(nested(98)), WIDEST)
  decodeResponse(toBytes(JSON.stringify({ ...PLAIN, state: { a: '\\"['.repeat(200) } })), WIDEST)
  for (const depth of [99, 200, 100_000]) {
    assertThrows(() => decodeResponse(toBytes(nested(depth)), WIDEST), FrameError, 'more than 100 deep')
  }
  assertThrows(
    () => decodeResponse(makeFrame(RESPONSE, new Uint8Array([0xff]), new Uint8Array(0)), WIDEST),
    FrameError,
    'no UTF-8',
  )
  assertThrows(
    () => decodeResponse(toBytes('{}', '12345'), { header: 9, body: 4 }),
    FrameError,
    'body of 5 bytes',
  )
  assertThrows(() => decodeDescription(toBytes('{}'), WIDEST), AnswerError, 'handlers is undefined')
})

Deno.test('decodeResponse gives headers as they are sent', () => {
  const headers = [['X-One', ' \t1 2\t '], ['x-two', '']]
  const { head } = decodeResponse(toBytes(JSON.stringify({ status: 200, headers })), WIDEST)
  assertEquals(head.headers, [['x-one', '1 2'], ['x-two', '']])
})

Deno.test('a member named __proto__ gives nothing a prototype', () => {
  const { head } = decodeResponse(
    toBytes('{"status":200,"headers":[],"state":{"__proto__":{"admin":true}}}'),
    WIDEST,
  )
  const state = head.state as Record<string, unknown>
  assertEquals([state.admin, Object.getPrototypeOf(state)], [undefined, null])
})

Deno.test('decodeResponse throws its own errors only, whatever comes', () => {
  const random = new RandomSource(7)
  const base = JSON.stringify({
    ...PLAIN,
    session: { data: {} },
    error: { ...ERROR, http: { status: 400, type: 't', headers: { a: 'b' } } },
  })
  for (let round = 0; round < 5000; round++) {
    const bytes = toBytes(base, 'x')
    for (let i = random.below(4) + 1; i > 0; i--) {
      bytes[16 + random.below(bytes.length - 16)] = random.below(256)
    }
    try {
      decodeResponse(bytes, WIDEST)
    } catch (error) {
      assert(error instanceof AnswerError || error instanceof FrameError, `${error}`)
    }
  }
  let nested = JSON.stringify(ERROR)
  for (let i = 0; i < 50; i++) nested = `{"name":"e","message":"m","cause":${nested}}`
  let depth = 0
  let error: ErrorData | undefined = decodeResponse(toBytes(`{"error":${nested}}`), WIDEST).head.error
  for (; error !== undefined; error = error.cause) depth++
  assertEquals(depth, 5)
})

Deno.test('toHostError keeps an HttpError public and everything else private', () => {
  const mapper = createStackMapper({
    'program.js': '{"version":3,"sources":["home/a.ts"],"mappings":"AAAA"}',
  })
  const http = toHostError(mapper, {
    ...ERROR,
    http: { status: 418, type: 'pot', headers: { a: 'b' }, details: { c: 1 } },
  })
  assertInstanceOf(http, HttpError)
  assertEquals([http.status, http.message, http.type, http.headers, http.details], [418, 'm', 'pot', {
    a: 'b',
  }, { c: 1 }])
  const other = toHostError(mapper, {
    name: 'TypeError',
    message: 'secret',
    stack: 'TypeError: secret\n    at f (file:///program.js:1:9)',
    cause: ERROR,
  })
  assertInstanceOf(other, GuestError)
  assertEquals(other instanceof HttpError, false)
  assertEquals([other.name, other.stack], [
    'TypeError',
    'TypeError: secret\n    at f (file:///home/a.ts:1:1)',
  ])
  assertEquals((other.cause as Error).stack, 'Error: m')
})

Deno.test('mapStack leaves out what no user can fix', () => {
  const guest = new URL('../../src/isolate/guest/serve.ts', import.meta.url).pathname.slice(1)
  const map = {
    version: 3,
    sources: [guest, 'mayfly:program', 'remote:https://x.dev/m.ts', 'a b.ts'],
    mappings: 'AAAA,CCAA,CCAA,CCAA',
  }
  const mapper = createStackMapper({ 'program.js': JSON.stringify(map) })
  const stack = [
    'Error: a',
    '  at b',
    ...[1, 2, 3, 4].map((column) => `    at g (file:///program.js:1:${column})`),
    '    at file:///program.js:1:4',
    '    at ext:core/01_core.js:1:2',
    '    at async node:fs:3:4',
    '    at file:///program.js:9:9',
    '    at h (file:///other.js:1:1)',
    '    at new Promise (<anonymous>)',
  ].join('\n')
  assertEquals(mapStack(mapper, stack).text.split('\n'), [
    'Error: a',
    '  at b',
    '    at g (https://x.dev/m.ts:1:1)',
    '    at g (file:///a%20b.ts:1:1)',
    '    at file:///a%20b.ts:1:1',
    '    at h (file:///other.js:1:1)',
    '    at new Promise (<anonymous>)',
  ])
})

Deno.test('a guest names no file but those of its bundle, and steers no terminal', () => {
  const mapper = createStackMapper({
    'program.js': '{"version":3,"sources":["home/a.ts"],"mappings":"AAAA"}',
  })
  const forged = ['Error: m', '    at f (file:///etc/shadow:1:1)', '    at g (file:///dev/zero.ts:1:1)']
  const own = '    at h (file:///x/program.js:1:1)'
  assertEquals(mapStack(mapper, forged.join('\n')).place, null)
  assertEquals(mapStack(mapper, [...forged, own].join('\n')).place, {
    file: 'file:///home/a.ts',
    line: 1,
    column: 1,
  })
  const data = { name: 'E\x1b[2J', message: 'm\x9b1m\u202e', stack: 'E\x1b[2J: m\x9b1m\u202e\n\tat' }
  const error = toHostError(mapper, data)
  assertEquals([error.name, error.message, error.stack], [
    'E\\x1b[2J',
    'm\\x9b1m\\u202e',
    'E\\x1b[2J: m\\x9b1m\\u202e\n\tat',
  ])
  assertEquals(Deno.inspect(error).includes('\x1b'), false)
})

function pairs(count: number): [string, string][] {
  return Array.from({ length: count }, (_, index) => [`x-${index}`, 'a'])
}
