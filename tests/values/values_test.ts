import fc from 'fast-check'
import { assert, assertEquals, assertInstanceOf, assertStrictEquals, assertThrows } from '@std/assert'
import { decodeValue } from '../../src/values/decode.ts'
import { encodeValue, joinMessage } from '../../src/values/encode.ts'
import { MAX_ERRORS, MAX_HASHED, PLAIN_DEPTH, ValueError } from '../../src/values/format.ts'

function pass<T>(value: T): T {
  return decodeValue(joinMessage(encodeValue(value, { stacks: true }))) as T
}

function read(text: string, raw: number[] | null = null): unknown {
  const head = new TextEncoder().encode(text)
  const bytes = raw === null ? head : new Uint8Array([...head, 0, ...raw])
  return decodeValue(bytes)
}

Deno.test('primitives pass as they are', () => {
  const values = [
    null,
    undefined,
    true,
    false,
    0,
    -0,
    1.5,
    NaN,
    Infinity,
    -Infinity,
    2 ** 53,
    5e-324,
    '',
    'text',
    '\0\u2028"\\',
    '\ud800',
    'ü😀',
    0n,
    -255n,
    2n ** 200n,
  ]
  for (const value of values) assert(Object.is(pass(value), value), Deno.inspect(value))
})

Deno.test('what the structured clone has passes as it does there', () => {
  const values: unknown[] = [
    {},
    [],
    { a: { b: [1, { c: undefined }] } },
    [1, , 3],
    new Date(5),
    new Date(NaN),
    /a(?<b>c)+/giu,
    new Map<unknown, unknown>([[1, 'a'], [{}, new Map()], ['k', null]]),
    new Set([1, 'a', [2]]),
    Object(1),
    Object('s'),
    Object(false),
    Object(1n),
    new Uint8Array([1, 2, 3]),
    new Uint8ClampedArray([1]),
    new Int16Array([-1, 2]),
    new Uint32Array([1]),
    new Float32Array([1.5]),
    new Float64Array([1.5, NaN]),
    new BigInt64Array([-1n]),
    new BigUint64Array([1n]),
    new DataView(new Uint8Array([1, 2]).buffer),
    new Uint8Array([1, 2]).buffer,
    new ArrayBuffer(0),
    new Array(5),
    { ['__proto__']: 1 },
    Object.assign([1, 2], { extra: true }),
  ]
  for (const value of values) assertEquals(pass(value), structuredClone(value))
  assertEquals(pass(values), structuredClone(values))
})

Deno.test('a value that JSON says all of is its JSON, and no other is', () => {
  const nest = (depth: number): unknown => depth === 0 ? 1 : [nest(depth - 1)]
  const shared = {}
  const plain: unknown[] = [
    null,
    'text',
    1.5,
    [],
    {},
    [1, [null, true]],
    { a: { b: ['c'] }, ['__proto__']: 1, toJSON: 'x' },
    Object.assign(Object.create(null), { a: 1 }),
    nest(PLAIN_DEPTH),
  ]
  const others: unknown[] = [
    undefined,
    -0,
    NaN,
    1n,
    { a: undefined },
    [, 1],
    Object.assign([, 1], { extra: 1 }),
    [shared, shared],
    new Date(0),
    new (class A {})(),
    [new Map()],
    nest(PLAIN_DEPTH + 1),
  ]
  const isPlain = (value: unknown) => encodeValue(value, { stacks: false }).text.startsWith('=')
  assertEquals(plain.map(isPlain), plain.map(() => true))
  assertEquals(others.map(isPlain), others.map(() => false))
  for (const value of [...plain, ...others]) assertEquals(pass(value), structuredClone(value))
})

Deno.test('random values pass as structuredClone passes them', () => {
  // With null and undefined, holes, -0, objects without a prototype, Maps, dates and big numbers among them.
  const value = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withSparseArray: true,
    withNullPrototype: true,
    withTypedArray: true,
  })
  fc.assert(fc.property(value, (value) => assertEquals(pass(value), structuredClone(value))), { seed: 1 })
})

Deno.test('what is shared stays shared, and circles stay circles', () => {
  const shared = { n: 1 }
  const value: Record<string, unknown> = { a: shared, b: shared, m: new Map(), s: new Set(), l: [] }
  value.self = value
  ;(value.m as Map<unknown, unknown>).set(value, value)
  ;(value.s as Set<unknown>).add(value)
  const copy = pass(value)
  assertStrictEquals(copy.a, copy.b)
  assertStrictEquals(copy.self, copy)
  assertStrictEquals((copy.m as Map<unknown, unknown>).get(copy), copy)
  assert((copy.s as Set<unknown>).has(copy))
})

Deno.test('errors keep class, message, stack, cause and code', () => {
  for (const Kind of [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError]) {
    const error = new Kind('no', { cause: new Map([[1, new Error('why')]]) })
    const copy = pass(error)
    assertStrictEquals(copy.constructor, Kind)
    assertEquals([copy.name, copy.message, copy.stack], [error.name, 'no', error.stack])
    assertEquals((copy.cause as Map<number, Error>).get(1)?.message, 'why')
  }
  class OwnError extends RangeError {
    override readonly name = 'OwnError'
    readonly code = 'E_OWN'
  }
  const own = pass(new OwnError('mine'))
  assertInstanceOf(own, RangeError)
  assertEquals([own.name, own.message, own.code], ['OwnError', 'mine', 'E_OWN'])
  const both = pass(new AggregateError([1, new TypeError('x')], 'both'))
  assertInstanceOf(both, AggregateError)
  assertInstanceOf(both.errors[1], TypeError)
  const stop = pass(new DOMException('stop', 'AbortError'))
  assertInstanceOf(stop, DOMException)
  assertEquals([stop.name, stop.message], ['AbortError', 'stop'])
})

Deno.test('the host tells no stack of its own', () => {
  const { text } = encodeValue(new Error('no'), { stacks: false })
  assert(!text.includes('file:'), text)
})

Deno.test('views bring their own bytes, not the buffer behind them', () => {
  const bytes = new Uint8Array(1000).subarray(10, 12)
  const copy = pass(bytes)
  assertEquals([copy.length, copy.buffer.byteLength], [2, 2])
})

Deno.test('what has no data in it is refused by name', () => {
  const refused: [unknown, string][] = [
    [() => 1, 'function'],
    [Symbol('a'), 'symbol'],
    [{ deep: [{ method() {} }] }, 'method'],
    [Promise.resolve(), 'Promise'],
    [new WeakMap(), 'WeakMap'],
    [new Response(), 'Response'],
    [new Blob(['a']), 'Blob'],
    [new URL('http://a'), 'URL'],
  ]
  for (const [value, word] of refused) {
    const error = assertThrows(() => pass(value), DOMException, word)
    assertEquals(error.name, 'DataCloneError')
  }
})

Deno.test('getters, proxies and poisoned objects are read once, and what they throw is thrown', () => {
  let reads = 0
  const getter = {
    get a() {
      return ++reads
    },
  }
  assertEquals(pass(getter), { a: 1 })
  assertThrows(
    () =>
      pass({
        get a() {
          throw new RangeError('mine')
        },
      }),
    RangeError,
    'mine',
  )
  assertEquals(pass(new Proxy({ a: 1 }, {})), { a: 1 })
  assertThrows(() =>
    pass(
      new Proxy({}, {
        ownKeys: () => {
          throw new RangeError('mine')
        },
      }),
    ), RangeError)
  assertEquals(pass({ toJSON: undefined, a: 1 }), { toJSON: undefined, a: 1 })
  const told = pass(Object.defineProperty(new Error('a'), 'stack', {
    get() {
      throw new Error('b')
    },
  }))
  assertEquals(told.message, 'a')
  const map = Object.assign(new Map([[1, 2]]), { get: 1, forEach: 2, [Symbol.iterator]: 3 })
  assertEquals([...Map.prototype.entries.call(pass(map))], [[1, 2]])
  class Point {
    constructor(readonly x: number) {}
  }
  assertEquals(Object.getPrototypeOf(pass(new Point(1))), Object.prototype)
})

Deno.test('a list of a hundred thousand links passes', () => {
  let list: { next: unknown } | null = null
  for (let i = 0; i < 100_000; i++) list = { next: list }
  let length = 0
  for (let at = pass(list); at !== null; at = at.next as typeof list) length++
  assertEquals(length, 100_000)
})

Deno.test('poisoned prototypes of the language change nothing', () => {
  const { toJSON: _ } = {} as { toJSON?: unknown }
  const names = ['toJSON', 'get', 'a'] as const
  try {
    for (const name of names) {
      Object.defineProperty(Array.prototype, name, { value: () => 'poison', configurable: true })
    }
    assertEquals(pass([1, { b: [2] }]), [1, { b: [2] }])
  } finally {
    for (const name of names) delete (Array.prototype as unknown as Record<string, unknown>)[name]
  }
})

Deno.test('messages that are none are refused in words', () => {
  const wrong: [string, number[]?][] = [
    [''],
    ['{}'],
    ['[]'],
    ['[[0]]'],
    ['[[1],["o"]]'],
    ['[[-1],["o"]]'],
    ['[[0.5],["o"]]'],
    ['[[0,0],["o"]]'],
    ['[["x"]]'],
    ['[{}]'],
    ['[["n","0x1"]]'],
    ['[["n","zz"]]'],
    ['[0,{}]'],
    ['[0,["?"]]'],
    ['[0,["o","a"]]'],
    ['[0,["o",1,2]]'],
    ['[0,["m",1]]'],
    ['[0,["h",-1]]'],
    ['[0,["h",4294967295]]'],
    ['[0,["h",1,"5",1]]'],
    ['[0,["h",1,"length",9]]'],
    ['[0,["d","x"]]'],
    ['[0,["r","(","u"]]'],
    ['[0,["r","a","zz"]]'],
    ['[0,["w",[0]]]'],
    ['[0,["e",1,"m",["u"]]]'],
    ['[0,["e","Error","m",["u"],"then",1]]'],
    ['[0,["b",1]]'],
    ['[0,["b",2]]', [1]],
    ['[0]', [1]],
    ['[0,["t","Float64Array",3]]', [1, 2, 3]],
    ['[0,["t","constructor",0]]', []],
  ]
  for (const [text, raw] of wrong) {
    assertThrows(() => read(text, raw ?? null), ValueError, 'Reading a value', text)
  }
})

Deno.test('no byte of a message makes memory of its own', () => {
  // Two buffers cannot show the same bytes, nor many arrays the same holes.
  assertThrows(() => read('[0,["b",1],["b",1]]', [7]), ValueError)
  const holes = Array.from({ length: 3 }, () => '["h",500000]').join()
  assertThrows(() => read(`[0,${holes}]`), ValueError)
  const keys = Array.from({ length: MAX_HASHED + 1 }, (_, i) => i).join()
  assertThrows(() => read(`[0,["s",${keys}]]`), ValueError)
  const errors = Array.from({ length: MAX_ERRORS + 1 }, () => '["e","Error","",["u"]]').join()
  assertThrows(() => read(`[0,${errors}]`), ValueError, 'number of errors')
  assertThrows(() => pass(Array.from({ length: MAX_ERRORS + 1 }, () => new Error())), DOMException, 'errors')
  assertThrows(() => pass(new Set(Array(MAX_HASHED + 1).keys())), DOMException, 'numbers as keys')
})

Deno.test('the members of a message are own properties, whatever they are called', () => {
  const value = read('[[0],["o","__proto__",[1],"constructor",1],["o","polluted",true]]') as object
  assertEquals(Object.getPrototypeOf(value), Object.prototype)
  assertEquals(Object.keys(value), ['__proto__', 'constructor'])
  assertEquals(({} as { polluted?: unknown }).polluted, undefined)
})
