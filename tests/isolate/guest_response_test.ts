/** `new Response` in a guest: what stands in for one is used as a real one is, and goes out as that. */
import { assert, assertEquals } from '@std/assert'
import { ask, withGuest } from './guest_process.ts'

/** Arguments of `new Response`, as text; each is tried with all uses. */
const MADE = [
  ``,
  `'té'`,
  `''`,
  `null`,
  `undefined, {}`,
  `null, { status: 204 }`,
  `null, { status: 304, headers: { etag: '"a"' } }`,
  `'a', null`,
  `'a', undefined`,
  `'a', { status: undefined, headers: undefined, statusText: undefined }`,
  `'a', { status: 404 }`,
  `'a', { status: 299, statusText: 'Fine' }`,
  `'a', { statusText: '' }`,
  `'{}', { headers: { 'Content-Type': 'application/json' } }`,
  `'{}', { headers: { 'content-type': 'application/x-of-its-own' } }`,
  `'{}', { status: 500, headers: { 'Content-Type': 'application/problem+json', 'X-A': 'b c', 'x_b': '1' } }`,
  `'a', { headers: { 'x-a': 'b' } }`,
  `'a', { headers: { 'set-cookie': 'a=b' } }`,
  `'a', { headers: [['x-a', 'b'], ['X-A', 'c']] }`,
  `'a', { headers: new Headers({ 'x-a': 'b' }) }`,
  `'a', new Response('b', { status: 201, headers: { 'x-a': 'b' } })`,
  `'a', Object.create({ status: 201 })`,
  `'a', { headers: Object.create({ 'x-a': 'b' }) }`,
  `'a', { headers: { __proto__: null, 'x-a': 'b' } }`,
  `'a', { headers: { get 'x-a'() { return 'b' } }, get status() { return 201 } }`,
  `'a', { headers: { *[Symbol.iterator]() { yield ['x-a', 'b'] } } }`,
  `'\\ud800 lone', { status: 200 }`,
  `'x'.repeat(70000)`,
  `new Uint8Array([1, 2]), { headers: { 'content-type': 'a/b' } }`,
  `new URLSearchParams('a=b')`,
  `new String('a')`,
  `5`,
  // What is an error, or is put right.
  `'a', { status: 204 }`,
  `'a', { status: 199 }`,
  `'a', { status: 600 }`,
  `'a', { status: 200.5 }`,
  `'a', { status: '201' }`,
  `'a', { status: null }`,
  `'a', { status: NaN }`,
  `null, { status: 101 }`,
  `'a', { statusText: 'a\\nb' }`,
  `'a', { statusText: null }`,
  `'a', { headers: null }`,
  `'a', { headers: 5 }`,
  `'a', 5`,
  `'a', () => {}`,
  `'a', { headers: { 'x a': 'b' } }`,
  `'a', { headers: { '': 'b' } }`,
  // A letter that `toLowerCase` makes a plain one of.
  `'a', { headers: { '\\u212a': 'b' } }`,
  `'a', { headers: { 'x-a': 'b\\nc' } }`,
  `'a', { headers: { 'x-a': ' b ' } }`,
  `'a', { headers: { 'x-a': '' } }`,
  `'a', { headers: { 'x-a': 'é' } }`,
  `'a', { headers: { 'x-a': '€' } }`,
  `'a', { headers: { 'x-a': 1, 'x-b': undefined } }`,
  `'a', { headers: { 'X-A': 'b', 'x-a': 'c' } }`,
  `'a', { headers: { 'Content-Type': 'a/b', 'content-type': 'c/d' } }`,
  `'a', { headers: { 'Content-Type': 'no type at all' } }`,
  `'a', { headers: { 'x!a': 'b', 'x.c': 'd' } }`,
  `'a', { headers: Object.fromEntries(Array.from({ length: 40 }, (_, i) => ['x-' + i, String(i)])) }`,
]

const USES = `
  const members = (r) => [r.status, r.ok, r.type, r.url, r.redirected, r.statusText, r.bodyUsed, r.body === null, [...r.headers],
    String(r), r instanceof Response, Object.keys(r), Deno.inspect(r), JSON.stringify(r)]
  const uses = {
    members,
    text: (r) => r.text(),
    bytes: async (r) => [...(await r.bytes()).slice(0, 9), r.bodyUsed],
    json: (r) => r.json().then((value) => value, (error) => [error.name, error.message]),
    type: async (r) => (await r.blob()).type,
    // Deno 2.9 forgets the type of some in a clone, unless somebody has seen their headers.
    clone: async (r) => [r.headers.get('content-type'), members(r.clone()), await r.clone().text(), await r.text()],
    again: async (r) => [members(new Response(r.body, r)), r.body?.locked],
    changed: (r) => { r.headers.set('x-a', 'z'); r.headers.delete('content-type'); return members(r) },
    twice: async (r) => { await r.text(); return r.text().then(() => 'read', (error) => error.name) },
    form: (r) => r.formData().then((form) => [...form], (error) => error.name),
    wasm: (r) => WebAssembly.compileStreaming(r).then(() => 'compiled', (error) => error.name),
  }`

/** A class that inherits makes real ones: what the rest is compared with. */
const COMPARE = `
  class Real extends Response {}
  async function attempt(make, use) {
    try { return { value: await use(make()) } } catch (error) { return { name: error.name, message: error.message } }
  }
  const plain = (text) => text.replaceAll('Real {', 'Response {')
  export async function GET(ctx) {
    const rows = []
    for (const [what, make, real] of made) for (const [name, use] of Object.entries(uses)) {
      const [one, other] = [await attempt(make, use), await attempt(real, use)]
      rows.push([what + ' ' + name, plain(JSON.stringify(one)), plain(JSON.stringify(other))])
    }
    return ctx.send.json(rows)
  }
  export function POST(ctx) { return made[Number(ctx.get.query('i'))][ctx.get.query('real') === '1' ? 2 : 1]() }`

const made = MADE.map((args) => [args, `() => new Response(${args})`, `() => new Real(${args})`])
made.push(['json', `() => Response.json({ a: 'é' })`, `() => Real.json({ a: 'é' }, {})`])
made.push(['json of nothing', `() => Response.json()`, `() => Real.json(undefined, {})`])
made.push([
  'json with a status',
  `() => Response.json([], { status: 201 })`,
  `() => Real.json([], { status: 201 })`,
])
made.push([
  'redirect',
  `() => Response.redirect('http://a/b', 307)`,
  `() => Real.redirect('http://a/b', 307)`,
])
made.push(['error', `() => Response.error()`, `() => Real.error()`])

const FILES = {
  'made.ts': `export const isolated = true
    const made = [${
    made.map(([what, ...ways]) => `[${JSON.stringify(what)}, ${ways.join(', ')}]`).join(',\n')
  }]
    ${USES}
    ${COMPARE}`,
}

Deno.test('what new Response makes is used as a real one is', async () => {
  await withGuest(FILES, async (guest) => {
    const { head, text } = await ask(guest, {})
    assertEquals(head.status, 200, head.error?.stack)
    const rows: [string, string, string][] = JSON.parse(text)
    assertEquals(rows.length, made.length * 11)
    for (const [what, one, other] of rows) assertEquals(one, other, what)
  })
})

Deno.test('what new Response makes is answered as a real one is', async () => {
  await withGuest(FILES, async (guest) => {
    for (const [i, [what]] of made.entries()) {
      const answers = []
      for (const real of ['0', '1']) {
        const { head, text } = await ask(guest, {
          method: 'POST',
          path: `/made?i=${i}&real=${real}`,
          body: 'a',
        })
        const { name, message } = head.error ?? {}
        answers.push([head.status, head.statusText, head.headers?.toSorted(), name, message, text])
      }
      assertEquals(answers[0], answers[1], what)
    }
  })
})

Deno.test('Response is what it was, but for what it makes', async () => {
  const files = {
    'face.ts': `export const isolated = true
      const native = Object.getPrototypeOf(Object.getPrototypeOf(Response.json(1))).constructor
      export function GET(ctx) {
        let called
        try { Response('a') } catch (error) { called = [error.name, error.message] }
        class Own extends Response { own = true; get twice() { return this.status * 2 } }
        const own = new Own('a', { status: 201 })
        const r = new Response('a')
        return ctx.send.json({
          called,
          names: [Response.name, Response.length, Reflect.ownKeys(Response).map(String).sort()],
          flags: Object.getOwnPropertyDescriptor(globalThis, 'Response').enumerable,
          prototype: Object.getOwnPropertyDescriptor(Response, 'prototype').writable,
          own: [own.own, own.twice, own instanceof Own, own instanceof Response, own.constructor === Own],
          made: [r.constructor === Response, new r.constructor('b') instanceof Response, native === Response,
            Response.prototype.isPrototypeOf(r), 'text' in r, Object.prototype.toString.call(r)],
        })
      }`,
  }
  await withGuest(files, async (guest) => {
    const { head, text } = await ask(guest, {})
    assertEquals(head.status, 200, head.error?.stack)
    const { names, ...rest } = JSON.parse(text)
    assertEquals(names.slice(0, 2), [Response.name, Response.length])
    assertEquals(names[2], Reflect.ownKeys(Response).map(String).sort())
    assertEquals(rest, {
      called: ['TypeError', "Class constructor Response cannot be invoked without 'new'"],
      flags: false,
      prototype: false,
      own: [true, 402, true, true, true],
      made: [true, true, true, true, true, '[object Response]'],
    })
    assert(!Object.getOwnPropertyDescriptor(globalThis, 'Response')!.enumerable)
  })
})
