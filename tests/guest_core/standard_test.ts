/** What the surface of the small guest does by the standards where Deno does not, and what it says of what it has not. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from '@std/assert'
import { createSurface } from '../../native/guest-core/web/globals.ts'
import { setHost } from '../../native/guest-core/web/host.ts'
import { inspect } from '../../native/guest-core/web/inspect.ts'
import { takeRefusal } from '../../native/guest-core/web/intl.ts'
import {
  COMMON_JS,
  explain,
  MISSING_CLASSES,
  MISSING_FUNCTIONS,
  MISSING_OBJECTS,
} from '../../native/guest-core/web/missing.ts'
import type { Web } from './cases/case.ts'
import { createDenoHost } from './host_of_deno.ts'

let logged = ''
setHost(createDenoHost((text) => logged += text))
const surface = createSurface() as unknown as Web
const { Event, EventTarget, Headers, ReadableStream, Response, structuredClone } = surface

function consoleText(run: (console: Console) => void): string {
  logged = ''
  run(surface.console)
  return logged
}

Deno.test('listeners of the capture phase go first at the target', () => {
  const target = new EventTarget()
  const log: string[] = []
  target.addEventListener('x', () => log.push('bubble'))
  target.addEventListener('x', () => log.push('capture'), true)
  target.dispatchEvent(new Event('x'))
  assertEquals(log, ['capture', 'bubble'])
})

Deno.test('an empty value of a header counts when values are combined', () => {
  assertEquals([...new Headers([['a', ''], ['a', 'x']])], [['a', ', x']])
  assertEquals([...new Headers(new Headers([['a', 'x'], ['a', '']]))], [['a', 'x,']])
})

Deno.test('structuredClone moves nothing when it fails', () => {
  const buffer = new ArrayBuffer(2)
  assertThrows(() => structuredClone(() => 1, { transfer: [buffer] }), surface.DOMException)
  assertThrows(() => structuredClone(1, { transfer: [buffer, buffer] }), surface.DOMException)
  assertEquals(buffer.byteLength, 2)
})

Deno.test('names of digests are written as the standard has them, usages are in its order, each once', async () => {
  const { subtle } = surface.crypto
  const key = await subtle.importKey('raw', new Uint8Array(4), { name: 'HMAC', hash: 'sha-384' }, false, [
    ...['verify', 'sign', 'verify'] as KeyUsage[],
  ])
  assertEquals(key.algorithm, { name: 'HMAC', length: 32, hash: { name: 'SHA-384' } } as KeyAlgorithm)
  assertEquals(key.usages, ['sign', 'verify'])
})

Deno.test('an HMAC key wants a digest that there is', async () => {
  const tryHash = (more: object) =>
    surface.crypto.subtle.importKey('raw', new Uint8Array(4), { name: 'HMAC', ...more }, false, ['sign'])
  await assertRejects(() => tryHash({}), TypeError, 'no hash')
  await assertRejects(() => tryHash({ hash: 'MD5' }), surface.DOMException, 'MD5')
})

Deno.test('a port is not sent through a port, and says which runtime does it', () => {
  const { port1, port2 } = new surface.MessageChannel()
  const { port1: other } = new surface.MessageChannel()
  assertThrows(() => port1.postMessage(other, [other]), surface.DOMException, "runtime: 'deno'")
  assertThrows(() => port1.postMessage(0, { transfer: [port2] }), surface.DOMException, "runtime: 'deno'")
})

Deno.test('functions and classes that are not there throw and name the runtime that has them', () => {
  const all = surface as unknown as Record<string, new () => object>
  for (const name of [...MISSING_FUNCTIONS, ...MISSING_CLASSES]) {
    assertEquals(typeof all[name], 'function', name)
    const error = assertThrows(() =>
      MISSING_CLASSES.includes(name as never) ? new all[name]() : (all[name] as unknown as () => void)()
    )
    assertStringIncludes(
      (error as Error).message,
      `${name} is not there in the runtime 'core', want isolated = { runtime: 'deno' }`,
    )
  }
})

Deno.test('parts of interfaces that are not there throw the same', async () => {
  const key = {} as CryptoKey
  await assertRejects(
    () => surface.crypto.subtle.encrypt('AES-GCM', key, new Uint8Array(1)),
    surface.DOMException,
    "runtime: 'deno'",
  )
  await assertRejects(
    () => surface.crypto.subtle.importKey('raw', new Uint8Array(16), 'AES-GCM', true, ['encrypt']),
    surface.DOMException,
    "runtime: 'deno'",
  )
  await assertRejects(
    () => new ReadableStream().pipeTo({} as WritableStream),
    surface.DOMException,
    "runtime: 'deno'",
  )
  assertThrows(
    () => new ReadableStream().pipeThrough({} as ReadableWritablePair),
    surface.DOMException,
    "runtime: 'deno'",
  )
  assertThrows(() => new ReadableStream({ type: 'bytes' }), surface.DOMException, "runtime: 'deno'")
  assertThrows(
    () => new surface.Response('x').body!.getReader({ mode: 'byob' }),
    surface.DOMException,
    "runtime: 'deno'",
  )
  assertThrows(
    () => surface.URL.createObjectURL(new surface.Blob([])),
    surface.DOMException,
    "runtime: 'deno'",
  )
  assertThrows(() => new Response().textStream(), surface.DOMException, "runtime: 'deno'")
})

Deno.test('what is said to be in the other runtime is there, and not in this one', () => {
  const elsewhere = [...MISSING_FUNCTIONS, ...MISSING_CLASSES, ...MISSING_OBJECTS]
  const nowhere = elsewhere.filter((name) => !(name in globalThis || COMMON_JS.includes(name as never)))
  assertEquals(nowhere, [])
  assertEquals([...MISSING_OBJECTS].filter((name) => name in surface), [])
  assertEquals(new Set(elsewhere).size, elsewhere.length)
})

Deno.test('a name that is not defined is explained, if another runtime has it', () => {
  for (const message of ['process is not defined', "'process' is not defined"]) {
    assertStringIncludes(explain(new ReferenceError(message))!, "process is not there in the runtime 'core'")
  }
  assertEquals(explain(new ReferenceError('mine is not defined')), undefined)
  assertEquals(explain(new TypeError('process is not defined')), undefined)
  for (const what of ['Deno.serve', 'Deno.env.set']) {
    assertStringIncludes(
      explain(new TypeError(`${what} is not a function`))!,
      `${what} is not there in the runtime 'core'`,
    )
  }
  assertEquals(explain(new TypeError('mine.serve is not a function')), undefined)
})

Deno.test('inspect shows what people look for', () => {
  const circular: Record<string, unknown> = { a: 1 }
  circular.self = circular
  class Point {
    x = 1
  }
  const shown: [unknown, string][] = [
    ['a"b', `'a"b'`],
    [-0, '-0'],
    [[1, , 'x'], '[ 1, <1 empty item>, "x" ]'],
    [
      { a: { b: { c: { d: { e: 1 } } } }, 'b-c': undefined },
      '{ a: { b: { c: { d: [Object] } } }, "b-c": undefined }',
    ],
    [new Map([['a', { b: 1 }]]), 'Map(1) { "a" => { b: 1 } }'],
    [new Set([1n]), 'Set(1) { 1n }'],
    [new Point(), 'Point { x: 1 }'],
    [Point, '[class Point]'],
    [function named() {}, '[Function: named]'],
    [Object.create(null), '[Object: null prototype] {}'],
    [circular, '<ref *1> { a: 1, self: [Circular *1] }'],
    [new Uint8Array(2), 'Uint8Array(2) [ 0, 0 ]'],
    [{
      get a() {
        return 1
      },
    }, '{ a: [Getter] }'],
    [new Headers({ b: 'c' }), 'Headers { b: "c" }'],
    [new surface.URL('http://a/b'), 'URL "http://a/b"'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [/x/g, '/x/g'],
    [Symbol('s'), 'Symbol(s)'],
  ]
  for (const [value, text] of shown) assertEquals(inspect(value), text)
})

Deno.test('inspect survives hostile values', () => {
  const thrower = new Proxy({}, {
    ownKeys() {
      throw new RangeError('x')
    },
  })
  assertStringIncludes(inspect({ thrower }), 'thrower: [cannot be shown')
  const error = new Error('text')
  Object.defineProperty(error, 'stack', {
    get() {
      throw new Error()
    },
  })
  assertStringIncludes(inspect(error), 'cannot be shown')
  assert(inspect(Array.from({ length: 1000 }, () => 'x'.repeat(100))).includes('... 900 more items'))
  assert(inspect('x'.repeat(100_000)).length < 11_000)
})

Deno.test('an error is shown with its stack, its members and its cause', () => {
  const error = Object.assign(new TypeError('text', { cause: new RangeError('why') }), { code: 5 })
  const shown = inspect(error)
  assertStringIncludes(shown, 'TypeError: text\n    at ')
  assertStringIncludes(shown, '{ code: 5 }\nCaused by: RangeError: why')
})

Deno.test('the console formats, groups, counts and draws tables', () => {
  assertEquals(
    consoleText((console) => console.log('%s is %d, %o%% %c', 'a', '5', { b: 1 }, 'css', 'more')),
    'a is 5, { b: 1 }%  more\n',
  )
  assertEquals(
    consoleText((console) => console.error('text', { a: 'b' }, ['c'])),
    'text { a: "b" } [ "c" ]\n',
  )
  const grouped = consoleText((console) => {
    console.group('outer')
    console.info('one\ntwo')
    console.groupEnd()
    console.debug('end')
  })
  assertEquals(grouped, 'outer\n    one\n    two\nend\n')
  assertEquals(
    consoleText((console) => (console.count(), console.count(), console.countReset(), console.count('x'))),
    'default: 1\ndefault: 2\nx: 1\n',
  )
  assertEquals(
    consoleText((console) => (console.assert(true), console.assert(false, 'why'))),
    'Assertion failed: why\n',
  )
  const table = consoleText((console) => console.table([{ a: 1, b: 'x' }, { a: 2 }]))
  assertStringIncludes(table, '│ (idx) │ a │ b   │')
  assertStringIncludes(table, '│ 0     │ 1 │ "x" │')
})

Deno.test('the surface keeps nothing of a request: two headers of one list are apart', () => {
  const pairs: [string, string][] = [['a', '1']]
  const first = new Headers(pairs)
  first.append('a', '2')
  assertEquals([...new Headers(pairs)], [['a', '1']])
})

Deno.test('Intl has the members that Deno has, each refuses, and the first refusal is kept once', () => {
  const own = (surface as unknown as { Intl: Record<string, Member> }).Intl
  assertEquals(Reflect.ownKeys(own).map(String).sort(), Reflect.ownKeys(Intl).map(String).sort())
  for (const name of Object.getOwnPropertyNames(own)) {
    const uses = [
      () => own[name]('pl'),
      () => new own[name]('pl'),
      () => own[name].supportedLocalesOf?.('pl'),
    ]
    for (const use of uses.slice(0, name === 'Locale' || /^[a-z]/.test(name) ? 2 : 3)) {
      assertEquals(takeRefusal(), undefined)
      const error = assertThrows(use, surface.DOMException, `Intl.${name}`)
      assertThrows(() => new own.PluralRules())
      assertEquals([(takeRefusal() as unknown) === error, takeRefusal()], [true, undefined])
    }
  }
})

Deno.test('a DateTimeFormat of no wishes tells its zone and formats nothing', () => {
  const { DateTimeFormat } = (surface as unknown as { Intl: typeof Intl }).Intl
  for (const format of [DateTimeFormat(), new DateTimeFormat()]) {
    assert(format instanceof DateTimeFormat)
    const { locale, timeZone, calendar, numberingSystem } = format.resolvedOptions()
    assertEquals([locale, timeZone, calendar, numberingSystem], ['en-US', 'UTC', 'gregory', 'latn'])
    for (const use of ['format', 'formatToParts', 'formatRange', 'formatRangeToParts'] as const) {
      assertThrows(() => format[use](new Date(0), new Date(1)), surface.DOMException, use)
      assertEquals(takeRefusal()?.name, 'NotSupportedError')
    }
  }
})

interface Member {
  (locale?: string): unknown
  new (locale?: string): unknown
  supportedLocalesOf?(locale: string): unknown
}
