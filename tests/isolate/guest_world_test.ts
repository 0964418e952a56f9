import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from '@std/assert'
import { encodeControl } from '../../src/isolate/wire/request_frame.ts'
import { chachaBlock, setUp } from '../../src/isolate/guest/random.ts'
import { ask, exchange, withGuest } from './guest_process.ts'

const RANDOMNESS = `
  export const isolated = true
  export function GET(ctx) {
    const random = Array.from({ length: 200 }, () => Math.random())
    const ids = [crypto.randomUUID(), crypto.randomUUID()]
    const odd = [...crypto.getRandomValues(new Uint8Array(3))]
    return ctx.send.json({ random, ids, odd, more: [...crypto.getRandomValues(new Uint16Array(300))], after: Math.random() })
  }
  export function POST(ctx) {
    const kinds = [new Float32Array(1), new Uint8Array(65537), [], null].map((value) => {
      try { crypto.getRandomValues(value); return 'none' } catch (error) { return error.name }
    })
    const big = crypto.getRandomValues(new Uint8Array(65536))
    return ctx.send.json({ kinds, sum: big.reduce((a, b) => a + b, 0), big: [...crypto.getRandomValues(new BigUint64Array(1))].map(String) })
  }`

Deno.test('randomness is new with every seed, and the same with the same', async () => {
  await withGuest({ 'randomness.ts': RANDOMNESS }, async (guest) => {
    const draw = async (seed: string) => JSON.parse((await ask(guest, { more: { seed } })).text)
    const first = await draw('ab'.repeat(32))
    const second = await draw('ab'.repeat(31) + 'ac')
    assertEquals(await draw('ab'.repeat(32)), first)
    for (const { random, ids, odd, more, after } of [first, second]) {
      assert(random.every((value: number) => value >= 0 && value < 1))
      assertEquals(new Set([...random, after]).size, 201)
      const mean = random.reduce((a: number, b: number) => a + b) / 200
      assert(mean > 0.4 && mean < 0.6, `mean ${mean}`)
      for (const id of ids) {
        assertMatch(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
      }
      assertNotEquals(ids[0], ids[1])
      assertEquals(odd.length, 3)
      assert(new Set(more).size > 280)
    }
    assertEquals(first.random.filter((value: number) => second.random.includes(value)), [])
    assertNotEquals(first.ids, second.ids)
  })
})

Deno.test('getRandomValues refuses what the specification refuses', async () => {
  await withGuest({ 'randomness.ts': RANDOMNESS }, async (guest) => {
    const { kinds, sum, big } = JSON.parse((await ask(guest, { method: 'POST' })).text)
    assertEquals(kinds, ['TypeMismatchError', 'QuotaExceededError', 'TypeMismatchError', 'TypeMismatchError'])
    assert(Math.abs(sum / 65536 - 127.5) < 3, `mean ${sum / 65536}`)
    assertMatch(big[0], /^\d{10,}$/)
    assertEquals((await exchange(guest, encodeControl({ control: 'draw', count: 20_000 }))).length, 16 + 2)
    assertEquals((await ask(guest, {})).head.status, 200)
  })
})

Deno.test('chachaBlock gives the block of RFC 8439, section 2.3.2', () => {
  const state = new Uint32Array(16)
  setUp(state)
  const key = new Uint8Array(state.buffer, 16, 32)
  for (let i = 0; i < 32; i++) key[i] = i
  state[12] = 1
  state[13] = 0x09000000
  state[14] = 0x4a000000
  const out = new Uint32Array(16)
  chachaBlock(state, out)
  assertEquals(
    new Uint8Array(out.buffer).toHex(),
    '10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e' +
      'd2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e',
  )
})

Deno.test('a handler reaches nothing of the host, and is told so in words of ours', async () => {
  const files = {
    'reach.ts': `
      export const isolated = true
      const tries = {
        read: () => Deno.readTextFileSync('/etc/passwd'), list: () => [...Deno.readDirSync('/')], write: () => Deno.writeTextFileSync('/tmp/x', ''),
        net: () => fetch('http://127.0.0.1:8099/'), listen: () => Deno.listen({ port: 0 }), run: () => new Deno.Command('/bin/true').outputSync(),
        ffi: () => Deno.dlopen('/lib/x.so', {}), sys: () => Deno.hostname(),
        code: () => import(String('file:///etc/hosts')), remote: () => import(String('https://localhost:1/x.ts')),
      }
      export async function GET(ctx) {
        const ends = {}
        for (const [name, attempt] of Object.entries(tries)) {
          try { await attempt(); ends[name] = ['done'] } catch (error) { ends[name] = [error.name, error.message] }
        }
        return ctx.send.json(ends)
      }
      export const POST = () => tries.code()`,
  }
  await withGuest(files, async (guest) => {
    const { code, remote, ...refused } = JSON.parse((await ask(guest, {})).text) as Record<string, string[]>
    const names = Object.entries(refused).map(([name, [kind]]) => [name, kind])
    assertEquals(Object.fromEntries(names), {
      read: 'NotFound',
      list: 'NotFound',
      write: 'NotCapable',
      net: 'NotCapable',
      listen: 'NotCapable',
      run: 'NotCapable',
      ffi: 'NotCapable',
      sys: 'NotCapable',
    })
    for (const [name, [, message]] of Object.entries(refused)) {
      assertMatch(message, /isolated handlers .*, want .*/, name)
      assert(!/--allow|run again/.test(message), message)
    }
    assertStringIncludes(refused.net[1], 'Cannot reach "127.0.0.1:8099": isolated handlers have no network')
    for (const [name] of [code, remote]) assert(name === 'TypeError' || name === 'NotCapable', name)
    const { error } = (await ask(guest, { method: 'POST' })).head
    assertStringIncludes(error!.message, 'isolated handlers hold what they import by name')
  })
})

Deno.test('an error of a package that looks for a file or an add-on says what is not there, to the developer alone', async () => {
  const files = {
    'a.ts': `
      import { readFileSync } from 'node:fs'
      export const isolated = true
      export const GET = () => readFileSync('/data.bin')
      export const PUT = () => { throw new Error('No native build was found for platform=linux') }
      export const POST = () => { throw new Error('Something else') }
      export const OPTIONS = () => new Deno.Command('ls').outputSync()
      export const PATCH = () => { try { readFileSync('/data.bin') } catch (error) { return Response.json([error.code, error.message]) } }
      export const DELETE = () => Response.json([typeof process.report.getReport().header])`,
  }
  await withGuest(files, async (guest) => {
    const messageOf = async (method: string) => (await ask(guest, { method })).head.error!.message
    assertMatch(await messageOf('GET'), /^ENOENT: .*: isolated handlers have no files, want an import/)
    assertMatch(
      await messageOf('PUT'),
      /^No native build .*: isolated handlers load no native add-ons, want /,
    )
    assertEquals(await messageOf('POST'), 'Something else')
    assertMatch(
      await messageOf('OPTIONS'),
      /^Failed to spawn 'ls': .*: isolated handlers start no other programs, want /,
    )
    const seen = ['ENOENT', `ENOENT: no such file or directory, open '/data.bin'`]
    assertEquals(JSON.parse((await ask(guest, { method: 'PATCH' })).text), seen)
    assertEquals((await ask(guest, { method: 'DELETE' })).text, '["object"]')
  })
})

Deno.test('the file mode mask is that of a fresh process, as packages ask for it when they load', async () => {
  const files = {
    'a.ts': `
      import process from 'node:process'
      export const isolated = true
      const first = process.umask()
      export const GET = () => Response.json([first, process.umask('077'), process.umask(0o1027), process.umask()])`,
  }
  await withGuest(files, async (guest) => {
    assertEquals((await ask(guest, {})).text, JSON.stringify([0o22, 0o22, 0o77, 0o27]))
  })
})

Deno.test('a variable that is not named is not there, whoever asks and however; one that is set is', async () => {
  const files = {
    'env.ts': `
      import process, { env } from 'node:process'
      export const isolated = { env: ['MAYFLY_TEST_SEEN', 'MAYFLY_TEST_MISSING'] }
      const atStart = { ...process.env }
      const refusals = ['', 'A=B', 'A\\0'].map((name) => { try { Deno.env.set(name, 'x') } catch (error) { return error.name } })
      export function GET() {
        const found = {
          atStart, all: { ...process.env }, keys: Object.keys(env), object: Deno.env.toObject(), refusals,
          hidden: [process.env.MAYFLY_TEST_HIDDEN, Deno.env.get('MAYFLY_TEST_HIDDEN'), env.HOME, env.PATH, env.DENO_DIR].map(String),
          has: ['MAYFLY_TEST_HIDDEN' in process.env, Deno.env.has('MAYFLY_TEST_HIDDEN'), 'HOME' in env, 'MAYFLY_TEST_SEEN' in env],
        }
        process.env.OWN = 'mine'
        const own = [env.OWN, Deno.env.get('OWN'), 'OWN' in env, Object.keys(env)]
        delete process.env.OWN
        return Response.json({ ...found, own, gone: String(env.OWN) })
      }`,
  }
  const given = { MAYFLY_TEST_SEEN: 'yes', NODE_ENV: 'production' }
  Deno.env.set('MAYFLY_TEST_SEEN', 'yes')
  Deno.env.set('MAYFLY_TEST_HIDDEN', 'a secret')
  try {
    await withGuest(files, async (guest) => {
      const { text } = await ask(guest, {})
      const { keys, own, ...found } = JSON.parse(text)
      assertEquals(found, {
        atStart: given,
        all: given,
        object: given,
        refusals: ['TypeError', 'TypeError', 'TypeError'],
        hidden: new Array(5).fill('undefined'),
        has: [false, false, false, true],
        gone: 'undefined',
      })
      assertEquals(keys.sort(), Object.keys(given))
      assertEquals(own.slice(0, 3), ['mine', 'mine', true])
      assertEquals(own[3].sort(), [...Object.keys(given), 'OWN'].sort())
    })
  } finally {
    Deno.env.delete('MAYFLY_TEST_SEEN')
    Deno.env.delete('MAYFLY_TEST_HIDDEN')
  }
})

Deno.test('NODE_ENV is production, or what the host has where env names it', async () => {
  const read = `export const GET = () => new Response(process.env.NODE_ENV)`
  const before = Deno.env.get('NODE_ENV')
  Deno.env.set('NODE_ENV', 'staging')
  try {
    for (const [options, wanted] of [['true', 'production'], [`{ env: ['NODE_ENV'] }`, 'staging']]) {
      await withGuest({ 'a.ts': `export const isolated = ${options}\n${read}` }, async (guest) => {
        assertEquals((await ask(guest, {})).text, wanted)
      })
    }
    Deno.env.delete('NODE_ENV')
    await withGuest({ 'a.ts': `export const isolated = { env: ['NODE_ENV'] }\n${read}` }, async (guest) => {
      assertEquals((await ask(guest, {})).text, 'production')
    })
  } finally {
    if (before === undefined) Deno.env.delete('NODE_ENV')
    else Deno.env.set('NODE_ENV', before)
  }
})

Deno.test('an untouched response of ctx.send behaves as a Response when it is used', async () => {
  const files = {
    'lazy.ts': `
      export const isolated = true
      const members = (r) => ({
        status: r.status, ok: r.ok, type: r.type, url: r.url, redirected: r.redirected, statusText: r.statusText, used: r.bodyUsed,
        headers: [...r.headers], tag: String(r), is: r instanceof Response,
      })
      export async function GET(ctx) {
        const make = [() => ctx.send.json({ a: 1 }), () => ctx.send.text('té'), () => ctx.send.html('<b>')]
        const real = [() => Response.json({ a: 1 }), () => new Response('té', { headers: { 'content-type': 'text/plain; charset=utf-8' } }),
          () => new Response('<b>', { headers: { 'content-type': 'text/html; charset=utf-8' } })]
        const rows = []
        for (const [index, each] of make.entries()) {
          const one = each(), other = real[index]()
          rows.push([members(one), members(other)])
          rows.push([await one.clone().text(), await other.clone().text()])
          rows.push([(await one.bytes()).length, (await other.bytes()).length])
          rows.push([one.bodyUsed, other.bodyUsed])
          rows.push([await new Response(each().body, each()).text(), await real[index]().text()])
        }
        return new Response(JSON.stringify(rows))
      }
      export function POST(ctx) { const r = ctx.send.json(1); r.headers.set('x-a', 'b'); return r }
      export function HEAD(ctx) { return ctx.send.json({ a: 'é' }) }
      export function PUT(ctx) { const r = ctx.send.text('late'); ctx.set.header('x-late', '1'); return r }`,
  }
  await withGuest(files, async (guest) => {
    for (const [one, other] of JSON.parse((await ask(guest, {})).text)) {
      assertEquals(one, other)
    }
    assertEquals((await ask(guest, { method: 'POST' })).head.headers, [['content-type', 'application/json'], [
      'x-a',
      'b',
    ]])
    const head = await ask(guest, { method: 'HEAD' })
    assertEquals(head, {
      head: { status: 200, headers: [['content-length', '10'], ['content-type', 'application/json']] },
      text: '',
    })
    assertEquals((await ask(guest, { method: 'PUT' })).head.pending?.single, [['x-late', '1']])
  })
})

const HEADERS = [['host', 'localhost'], ['content-type', 'text/plain'], ['cookie', 'a=b']] as const

Deno.test('a request that nobody has looked at behaves as a Request when it is used', async () => {
  const files = {
    'app.ts': `
      export const isolated = true
      const members = (r) => [r.method, r.url, [...r.headers], r.body === null, r.bodyUsed, r.redirect, r.credentials, r.signal.aborted,
        String(r), r instanceof Request, Deno.inspect(r)]
      const uses = {
        members,
        text: (r) => r.text(),
        bytes: async (r) => [...await r.bytes(), r.bodyUsed],
        streamed: async (r) => r.body && (await new Response(r.body).text()),
        type: async (r) => (await r.blob()).type,
        clone: async (r) => [members(r.clone()), await r.clone().text(), await r.text()],
        again: async (r) => [members(new Request(r.clone())), await new Request(r, { headers: { 'x-a': 'b' } }).text()],
        other: (r) => members(new Request(r, { method: 'PATCH' })),
        init: (r) => members(new Request('http://other/', { method: r.method, headers: r.headers })),
        derived: (r) => { class Own extends Request { get own() { return true } } const own = new Own(r); return [own.own, members(own)] },
        changed: (r) => { r.headers.set('x-a', 'b'); r.headers.delete('host'); return [members(r), members(r.clone()), members(new Request(r))] },
        late: async (r) => { const { headers } = r; await r.clone().text(); headers.append('x-a', 'b'); return members(r.clone()) },
        parsed: async (r) => r.method === 'POST' && (await r.json().then((value) => value, (error) => [error.name, error.message])),
        buffer: async (r) => [(await r.arrayBuffer()).byteLength, r.bodyUsed, r.body?.locked],
        spent: async (r) => { await r.text(); try { return [r.bodyUsed, members(r), members(r.clone())] } catch (error) { return error.message } },
        twice: async (r) => { await r.text(); return r.text().then(() => 'read', (error) => error.name) },
        fetched: (r) => fetch(r).then(() => 'fetched', (error) => error.name),
        foreign: (r) => { try { return Object.getOwnPropertyDescriptor(Request.prototype, 'url').get.call({}) } catch (error) { return error.name } },
        bare: () => { try { return new Request() } catch (error) { return error.message } },
      }
      export default {
        async fetch(request) {
          const { method, url } = request
          const body = method === 'POST' ? 'té' : undefined
          const real = () => new Request(url, { method, headers: ${JSON.stringify(HEADERS)}, body })
          const use = uses[new URL(url).searchParams.get('use')]
          return Response.json([await use(request), await use(real())])
        },
      }`,
  }
  const source = files['app.ts']
  const uses = [...source.slice(source.indexOf('const uses')).matchAll(/^ {8}(\w+)(?=:|,)/gm)].map((
    [, use],
  ) => use)
  assert(uses.length > 12, uses.join())
  await withGuest(files, async (guest) => {
    for (const use of uses) {
      for (const body of [undefined, 'té']) {
        const method = body === undefined ? 'GET' : 'POST'
        const answer = await ask(guest, {
          file: 'app.ts',
          method,
          path: `/app?use=${use}`,
          headers: HEADERS,
          body,
        })
        assertEquals(answer.head.status, 200, `${use} ${answer.head.error?.stack}`)
        const [one, other] = JSON.parse(answer.text)
        assertEquals(one, other, `${use} ${method}`)
      }
    }
  })
})
