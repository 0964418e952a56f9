import { type Kv, kv, KvError, SqliteStore } from '@mayfly/mayfly/reach'
import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { join, toFileUrl } from '@std/path'

const ROOT = toFileUrl(new URL('../../', import.meta.url).pathname)

function inMemory(options = {}): { store: SqliteStore; make: (prefix: string) => Kv } & Disposable {
  const store = new SqliteStore(':memory:')
  return { store, make: (prefix) => kv(prefix, { store, ...options }), [Symbol.dispose]: () => store.close() }
}

Deno.test('kv gives what was set: structured clones', async () => {
  using memory = inMemory()
  const db = memory.make('a/')
  const values = [
    0,
    -0,
    1.5,
    2 ** 60,
    'text',
    null,
    true,
    [1, [2]],
    { a: new Date(5) },
    new Uint8Array([1, 2]),
    7n,
  ]
  for (const [index, value] of values.entries()) {
    await db.set(`k${index}`, value)
    assertEquals(await db.get(`k${index}`), value)
  }
  assertEquals(await db.get('none'), undefined)
  assertEquals([await db.delete('k0'), await db.delete('k0'), await db.get('k0')], [true, false, undefined])
})

Deno.test('kv keeps prefixes apart, whatever a key is called', async () => {
  using memory = inMemory()
  const [a, inner, empty] = ['a/', 'a/b/', 'z'].map(memory.make)
  for (const key of ['b/x', '../z', '\0', '%', "' OR 1=1 --", 'ÿ', '\u{10FFFF}', '__proto__']) {
    await a.set(key, key)
    assertEquals(await a.get(key), key)
    assertEquals([await inner.get(key), await inner.get('x'), await empty.get(key)], [
      undefined,
      undefined,
      undefined,
    ])
  }
  assertEquals((await inner.list()).keys, [])
  assertEquals((await inner.list({ cursor: 'a', prefix: '..' })).keys, [])
  await inner.set('x', 1)
  assertEquals((await a.list()).keys.length, 8)
})

Deno.test('kv forgets what expired: for get, list, delete, compareAndSet and increment', async () => {
  using memory = inMemory()
  const db = memory.make('t')
  for (const key of ['get', 'list', 'delete', 'cas']) await db.set(key, 'old', { ttlMs: 1 })
  await db.increment('count', 5, { ttlMs: 1 })
  await new Promise((done) => setTimeout(done, 5))
  assertEquals([await db.get('get'), (await db.list()).keys, await db.delete('delete')], [
    undefined,
    [],
    false,
  ])
  assertEquals(await db.compareAndSet('cas', 'old', 'new'), false)
  assertEquals(await db.compareAndSet('cas', undefined, 'new'), true)
  assertEquals([await db.get('cas'), await db.increment('count')], ['new', 1])
})

Deno.test('kv lists by prefix, in order, page by page', async () => {
  using memory = inMemory()
  const db = memory.make('l')
  const keys = Array.from({ length: 25 }, (_, index) => `user:${String(index).padStart(2, '0')}`)
  for (const key of [...keys.toReversed(), 'user', 'user;', 'other']) await db.set(key, 1)
  const seen: string[] = []
  let cursor: string | null = ''
  let pages = 0
  while (cursor !== null) {
    const page: Awaited<ReturnType<Kv['list']>> = await db.list({ prefix: 'user:', cursor, limit: 10 })
    seen.push(...page.keys)
    cursor = page.cursor
    pages++
  }
  assertEquals([seen, pages], [keys, 3])
})

Deno.test('kv compares before it sets, and adds', async () => {
  using memory = inMemory()
  const db = memory.make('c')
  assertEquals(await db.compareAndSet('k', undefined, { n: 1 }), true)
  assertEquals(await db.compareAndSet('k', undefined, { n: 2 }), false)
  assertEquals(await db.compareAndSet('k', { n: 2 }, { n: 3 }), false)
  assertEquals(await db.compareAndSet('k', { n: 1 }, { n: 2 }), true)
  assertEquals(await db.compareAndSet('k', { n: 2 }, undefined), true)
  assertEquals(await db.get('k'), undefined)
  assertEquals([await db.increment('n'), await db.increment('n', 41), await db.increment('n', -2)], [
    1,
    42,
    40,
  ])
  await db.set('text', 'x')
  await assertRejects(() => db.increment('text'), KvError, 'no integer')
  await db.set('large', Number.MAX_SAFE_INTEGER)
  await assertRejects(() => db.increment('large'), KvError, 'no integer')
  assertEquals(await db.get('large'), Number.MAX_SAFE_INTEGER)
})

Deno.test('kv bounds keys, values, lists and what a prefix holds', async () => {
  using memory = inMemory({ maxKeys: 3, maxBytes: 2000 })
  const db = memory.make('q')
  await assertRejects(() => db.set('x'.repeat(513), 1), RangeError, 'too long')
  await assertRejects(() => db.set('ä'.repeat(300), 1), RangeError, 'too long')
  for (const key of ['', '\ud800', 5, null, {}]) {
    await assertRejects(() => db.get(key as string), TypeError, 'the key is')
  }
  await assertRejects(() => db.set('x', undefined), TypeError, 'undefined')
  await assertRejects(() => db.set('x', () => {}), DOMException)
  await assertRejects(() => db.set('x', 'y'.repeat(1 << 21)), RangeError, 'want at most')
  for (const ttlMs of [0, -1, NaN, Infinity, '5']) {
    await assertRejects(() => db.set('x', 1, { ttlMs } as never), RangeError, 'ttlMs')
  }
  for (const limit of [0, 1001, 1.5]) await assertRejects(() => db.list({ limit }), RangeError, 'limit')
  for (const key of ['a', 'b', 'c']) await db.set(key, 1)
  await assertRejects(() => db.set('d', 1), KvError, 'full')
  await assertRejects(() => db.increment('d'), KvError, 'full')
  await assertRejects(() => db.compareAndSet('d', undefined, 1), KvError, 'full')
  assertEquals(await db.get('d'), undefined)
  await db.set('a', 2)
  await db.delete('b')
  await db.set('d', 'x'.repeat(1900))
  await assertRejects(() => db.set('a', 'x'.repeat(100)), KvError, 'full')
  assertEquals(await db.get('a'), 2)
  await db.set('d', 'short', { ttlMs: 1 })
  await new Promise((done) => setTimeout(done, 5))
  await db.set('e', 'takes the place of what expired')
})

Deno.test('kv sweeps away what expired while others are written', async () => {
  using memory = inMemory()
  const db = memory.make('s')
  for (let index = 0; index < 500; index++) await db.set(`short${index}`, 1, { ttlMs: 1 })
  await new Promise((done) => setTimeout(done, 5))
  const writer = kv('other', { store: memory.store })
  for (let index = 0; index < 64 * 3; index++) await writer.set('k', index)
  // All are gone from the file: a prefix that may hold two keys takes two.
  const narrow = kv('s', { store: memory.store, maxKeys: 2 })
  await narrow.set('a', 1)
  await narrow.set('b', 1)
  await assertRejects(() => narrow.set('c', 1), KvError)
})

Deno.test('kv of one file counts right in several processes', async () => {
  const folder = await Deno.makeTempDir()
  try {
    const path = join(folder, 'kv.sqlite')
    const code = `import { kv } from ${JSON.stringify(new URL('src/reach/mod.ts', ROOT).href)}
const db = kv('p', { path: Deno.args[0] })
for (let i = 0; i < 200; i++) await db.increment('n')`
    const script = join(folder, 'count.ts')
    await Deno.writeTextFile(script, code)
    const run = () =>
      new Deno.Command(Deno.execPath(), {
        args: ['run', '-A', '--no-check', '--config', new URL('deno.json', ROOT).pathname, script, path],
        stderr: 'inherit',
      }).output()
    const runs = await Promise.all([run(), run(), run()])
    assert(runs.every(({ success }) => success))
    using store = new SqliteStore(path)
    assertEquals(await kv('p', { store }).get('n'), 600)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('kv refuses options and files that are none', async () => {
  assertThrows(() => kv(''), TypeError, 'the key is')
  assertThrows(() => kv('a', { maxKeys: 0 }), RangeError, 'maxKeys')
  assertThrows(() => kv('a', { pfad: 'x' } as never), TypeError, 'pfad')
  const path = await Deno.makeTempFile()
  await Deno.writeTextFile(path, 'no database'.repeat(200))
  await assertRejects(() => kv('a', { path }).get('x'), Error, 'not a database')
  await Deno.remove(path)
})
