import { assert, assertEquals, assertInstanceOf, assertThrows } from '@std/assert'
import { Engine, TemplateError } from '../../src/dve/mod.ts'

function render(source: string, data: object): string {
  return new Engine().compile(source).render(data)
}

/** An object whose every conversion is noted. */
function trap(calls: string[]): object {
  const note = (name: string) => () => {
    calls.push(name)
    return name
  }
  return {
    toString: note('toString'),
    valueOf: note('valueOf'),
    toJSON: note('toJSON'),
    [Symbol.toPrimitive]: note('toPrimitive'),
    [Symbol.iterator]: note('iterator'),
    get [Symbol.toStringTag]() {
      return note('tag')()
    },
    get secret() {
      return note('getter')()
    },
    get length() {
      return note('length')()
    },
  }
}

const EVERYWHERE = [
  '{{ t }}{{{ t }}}{{ t.secret }}{{ t["secret"] }}{{ t[k] }}{{ t.length }}',
  '{{ t + 1 }}{{ 1 + t }}{{ t + t }}{{ -t }}{{ +t }}{{ t * 2 }}{{ t / t }}{{ t % 2 }}{{ t - t }}',
  '{{ t < 1 }}{{ t <= t }}{{ 1 > t }}{{ t >= "a" }}{{ t == 1 }}{{ "x" == t }}{{ t != t }}{{ t === t }}',
  '{{ !t }}{{ t && 1 }}{{ t || 1 }}{{ t ?? 1 }}{{ t ? 1 : 2 }}{{ a[t] }}{{ "abc"[t] }}',
  '{{#each t as v, k}}{{ v }}{{ k }}{{ @length }}{{/each}}{{#if t}}{{/if}}',
  '{{#each list as v}}{{ v }}{{ v + 1 }}{{/each}}{{ list }}{{ list + "" }}{{ list == 1 }}',
]

Deno.test('conversions, iterators and getters of data are never called', async () => {
  const calls: string[] = []
  const data = { t: trap(calls), k: 'secret', a: { x: 1 }, list: [trap(calls), [trap(calls)]] }
  for (const source of EVERYWHERE) {
    render(source, data)
    await new Response(new Engine().compile(source).stream(data)).text()
  }
  assertEquals(calls, [])
  assertEquals(render('[{{ t }}][{{ t.secret }}]', data), '[[object Object]][]')
})

Deno.test('a function prints nothing and has no properties', () => {
  const data = { f: Object.assign(() => 'called', { x: 1 }), c: class Foo {} }
  assertEquals(render('[{{ f }}{{{ f }}}{{ f.name }}{{ f.x }}{{ f.prototype }}{{ c.name }}]', data), '[]')
  assertEquals(render("[{{ f + 'x' }}][{{ f == f }}]", data), '[undefinedx][true]')
})

Deno.test('prototypes are out of reach by every way to write them', () => {
  const data = { a: {}, s: 'x', n: 1, l: [1], key: 'constructor', proto: ['__proto__'] }
  for (
    const path of [
      'a.constructor',
      'a["constructor"]',
      'a[key]',
      'a[proto]',
      'a.__proto__',
      "a['__pro' + 'to__']",
      's.constructor',
      's.__proto__',
      'n.constructor',
      'l.constructor',
      'l.__proto__.push',
      '__proto__',
      'constructor',
      'hasOwnProperty',
      'a?.constructor?.constructor',
    ]
  ) {
    assertEquals(render(`[{{ ${path} ?? 'nothing' }}]`, data), '[nothing]', path)
  }
})

Deno.test('an own property named __proto__ is data like any other', () => {
  const data = JSON.parse('{"__proto__":{"x":"own"},"a":{"__proto__":"<p>"}}')
  assertEquals(render('{{ __proto__.x }}{{ a.__proto__ }}', data), 'own&lt;p&gt;')
  assertEquals(render('{{#each a as v, k}}{{ k }}{{/each}}', data), '__proto__')
  assertEquals(({} as { x?: unknown }).x, undefined)
})

Deno.test('polluted prototypes do not reach a page', () => {
  const prototype = Object.prototype as unknown as Record<string, unknown>
  prototype.polluted = 'P'
  try {
    assertEquals(render('[{{ polluted }}{{ a.polluted }}{{#each a as x}}{{ x }}{{/each}}]', { a: {} }), '[]')
  } finally {
    delete prototype.polluted
  }
})

Deno.test('methods and getters of a class are out of reach, its fields are not', () => {
  class User {
    name = 'Ann'
    get secret(): string {
      throw new Error('called')
    }
    shout(): string {
      throw new Error('called')
    }
  }
  assertEquals(render('{{ u.name }}[{{ u.secret }}{{ u.shout }}]', { u: new User() }), 'Ann[]')
})

Deno.test('cyclic data prints and loops to a bound', () => {
  const data: Record<string, unknown> = { name: 'x' }
  data.self = data
  const list: unknown[] = [1]
  list.push(list)
  assertEquals(render('{{ self.self.self.name }}{{ self }}', { ...data }), 'x[object Object]')
  assertEquals(render('{{ list }}', { list }), '1,1,1,1,1,1,1,1,1,')
  const wide: unknown[] = []
  for (let i = 0; i < 1000; i++) wide.push(wide)
  const error = assertThrows(() => render('{{ wide }}', { wide }), TemplateError)
  assertEquals(error.limit, 'maxTextSize')
})

Deno.test('a sparse array of the greatest length is refused, not walked', () => {
  const data = { a: new Array(4_294_967_295) }
  assertEquals(
    assertThrows(() => render('{{#each a}}x{{/each}}', data), TemplateError).limit,
    'maxIterations',
  )
  assertEquals(assertThrows(() => render('{{ a }}', data), TemplateError).limit, 'maxTextSize')
})

Deno.test('proxies are read by their own properties; what their traps throw is a TemplateError', () => {
  let gets = 0
  const quiet = new Proxy({ x: 'own' }, {
    get() {
      gets++
      return 'trapped'
    },
  })
  assertEquals(render('{{ p.x }}{{ p.y }}{{ p }}', { p: quiet }), 'own[object Object]')
  assertEquals(gets, 0)
  const angry = new Proxy({}, {
    getOwnPropertyDescriptor() {
      throw new Error('no')
    },
    ownKeys() {
      throw new Error('no keys')
    },
  })
  const error = assertThrows(() => render('a\n{{ p.x }}', { p: angry }), TemplateError)
  assertEquals([error.line, error.column], [2, 4])
  assertInstanceOf(error.cause, Error)
  assertThrows(() => render('{{#each p}}{{/each}}', { p: angry }), TemplateError, 'no keys')
  assertThrows(() => render('{{ x }}', angry), TemplateError)
  const { proxy, revoke } = Proxy.revocable([1], {})
  revoke()
  assertThrows(() => render('{{#each p}}{{/each}}', { p: proxy }), TemplateError)
  const lying = new Proxy([1], { get: (target, key) => key === 'length' ? 1e9 : Reflect.get(target, key) })
  assertThrows(() => render('{{#each p}}{{/each}}', { p: lying }), TemplateError)
})

Deno.test('what is thrown is wrapped, whatever it is', () => {
  for (const thrown of [null, undefined, 'text', 5, Symbol('s'), { message: 'x' }]) {
    const engine = new Engine({
      filters: {
        boom() {
          throw thrown
        },
      },
    })
    const error = assertThrows(() => engine.compile('{{ 1 | boom }}').render(), TemplateError)
    assertEquals(error.cause, thrown)
  }
})

Deno.test('only genuine Maps, Sets, typed arrays and generators are iterated', () => {
  function* generate(): Generator<number> {
    yield 1
    yield 2
  }
  const source = '{{#each a as v, k}}{{ k }}={{ v }}{{#if @last}}.{{else}},{{/if}}{{else}}none{{/each}}'
  assertEquals(render(source, { a: new Map([['x', 1], ['y', 2]]) }), 'x=1,y=2.')
  assertEquals(render(source, { a: new Set(['x', 'y']) }), '0=x,1=y.')
  assertEquals(render(source, { a: new Uint8Array([7, 8]) }), '0=7,1=8.')
  assertEquals(render(source, { a: generate() }), '0=1,1=2.')
  assertEquals(render(source, { a: Object.create(Map.prototype) }), 'none')
  assertEquals(render(source, { a: new DataView(new ArrayBuffer(2)) }), 'none')
  assertEquals(render(source, { a: { [Symbol.iterator]: generate } }), 'none')
  assertEquals(render(source, { a: [, 'x'] }), '0=,1=x.')
})

Deno.test('dates print as ISO 8601 and compare as times', () => {
  const data = { d: new Date(0), e: new Date(1000), bad: new Date(NaN) }
  assertEquals(
    render('{{ d }} {{ d < e }} {{ e - d }} [{{ bad }}]', data),
    '1970-01-01T00:00:00.000Z true 1000 []',
  )
})

Deno.test('symbols print nothing, and arithmetic on them fails with a place', () => {
  assertEquals(render('[{{ s }}]', { s: Symbol('x') }), '[]')
  const error = assertThrows(() => render('{{ s + 1 }}', { s: Symbol('x') }), TemplateError)
  assert(error.cause instanceof TypeError)
})

Deno.test('data is not changed, and a frozen one is as good', () => {
  const data = Object.freeze({ a: Object.freeze([1, 2]) })
  assertEquals(render('{{#each a as a}}{{ a }}{{/each}}', data), '12')
})
