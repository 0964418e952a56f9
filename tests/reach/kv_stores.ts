/** What every store of keys must do, whatever it is. */
import { type Kv, kv, type KvBackend, KvError, type KvOptions } from '@mayfly/mayfly/reach'
import { assertEquals, assertRejects } from '@std/assert'

/** A store that is empty. */
export interface OpenedStore extends AsyncDisposable {
  readonly store: KvBackend
}

/** Tests a kind of store; `ignore`: it cannot run here. */
export function testStore(kind: string, ignore: boolean, openStore: () => Promise<OpenedStore>): void {
  const test = (name: string, fn: () => Promise<void>) => Deno.test({ name: `${kind}: ${name}`, ignore, fn })
  const open = async (options: KvOptions = {}) => {
    const opened = await openStore()
    const { store } = opened
    const make = (prefix: string) => kv(prefix, { store, ...options })
    return { store, make, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
  }

  test('kv gives what was set: structured clones', async () => {
    await using memory = await open()
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

  test('kv keeps prefixes apart, whatever a key is called', async () => {
    await using memory = await open()
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

  test('kv forgets what expired: for get, list, delete, compareAndSet and increment', async () => {
    await using memory = await open()
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

  test('kv lists by prefix, in order, page by page', async () => {
    await using memory = await open()
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

  test('kv compares before it sets, and adds', async () => {
    await using memory = await open()
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

  test('kv bounds keys, values, lists and what a prefix holds', async () => {
    await using memory = await open({ maxKeys: 3, maxBytes: 2000 })
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

  test('kv sweeps away what expired while others are written', async () => {
    await using memory = await open()
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
}
