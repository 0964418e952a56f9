import { rateLimit, session } from '@mayfly/mayfly'
import { kv, SqliteStore } from '@mayfly/mayfly/reach'
import { assert, assertEquals, assertThrows } from '@std/assert'
import { makeSite, statusOf } from '../middleware/site.ts'

const SECRET = 'x'.repeat(32)

Deno.test('rateLimit counts in a store together with other servers', async () => {
  using store = new SqliteStore(':memory:')
  const limits = kv('limits/', { store })
  const sites = [1, 2].map(() => makeSite([rateLimit({ limit: 3, windowMs: 120_000, store: limits })]))
  const statuses = []
  for (const at of [0, 1, 0, 1, 0]) statuses.push(await statusOf(sites[at].ask('/')))
  assertEquals(statuses, [200, 200, 200, 429, 429])
  assertEquals(await statusOf(sites[0].ask('/', { ip: '203.0.113.8' })), 200)
  const many = await Promise.all(
    Array.from({ length: 20 }, (_, at) => statusOf(sites[at % 2].ask('/', { ip: '203.0.113.9' }))),
  )
  assertEquals(many.filter((status) => status === 200).length, 3)
})

Deno.test('rateLimit takes keys of any length into a store, and refills', async () => {
  using store = new SqliteStore(':memory:')
  let key = 'k'.repeat(100_000)
  const { ask } = makeSite([
    rateLimit({ limit: 1, windowMs: 30, key: () => key, store: kv('limits/', { store }) }),
  ])
  assertEquals([await statusOf(ask('/')), await statusOf(ask('/'))], [200, 429])
  key = '\ud800'
  assertEquals(await statusOf(ask('/')), 200)
  await new Promise((done) => setTimeout(done, 60))
  assertEquals(await statusOf(ask('/')), 200)
})

function setUp(store: SqliteStore, options = {}) {
  let next: object | null | undefined
  let seen: unknown
  const site = makeSite([
    session({ cookieSecret: SECRET, store: kv('sessions/', { store }), ...options }),
    (ctx, go) => {
      seen = ctx.get.session()
      if (next !== undefined) ctx.set.session(next as never)
      return go()
    },
  ])
  return async (cookie: string | undefined, data?: object | null) => {
    next = data
    const response = await site.ask('/', cookie === undefined ? {} : { headers: { cookie } })
    await response.body?.cancel()
    const set = response.headers.getSetCookie()[0]
    return { status: response.status, seen, set, cookie: set?.split(';')[0] }
  }
}

Deno.test('session keeps its data in a store, and the id alone in the cookie', async () => {
  using store = new SqliteStore(':memory:')
  const ask = setUp(store)
  const large = { name: 'Ann', text: 'x'.repeat(100_000) }
  const { cookie } = await ask(undefined, large)
  assert(cookie!.length < 200)
  assertEquals((await setUp(store)(cookie)).seen, large)
  const { cookie: changed } = await ask(cookie, { name: 'Bob' })
  assertEquals((await ask(changed)).seen, { name: 'Bob' })
})

Deno.test('a session of before the store ends for every copy of its cookie', async () => {
  using store = new SqliteStore(':memory:')
  const { cookie } = await setUp(store, { store: undefined })(undefined, { name: 'Ann' })
  const ask = setUp(store)
  assertEquals((await ask(cookie)).seen, { name: 'Ann' })
  assertEquals((await ask(cookie, null)).seen, { name: 'Ann' })
  assertEquals((await ask(cookie)).seen, null)
})

Deno.test('a session of before the store says what was set since, whichever of its cookies is asked', async () => {
  using store = new SqliteStore(':memory:')
  const { cookie } = await setUp(store, { store: undefined })(undefined, { name: 'Ann' })
  const ask = setUp(store)
  const { cookie: later } = await ask(cookie, { name: 'Bob' })
  assertEquals((await ask(cookie)).seen, { name: 'Bob' })
  await ask(later, null)
  assertEquals((await ask(later)).seen, null)
  assertEquals((await ask(cookie)).seen, null)
})

Deno.test('a session that ended in the store stays ended, whoever has its cookie', async () => {
  using store = new SqliteStore(':memory:')
  const ask = setUp(store)
  const { cookie } = await ask(undefined, { name: 'Ann' })
  const { set } = await ask(cookie, null)
  assert(set!.includes('Max-Age=0') || set!.includes('Expires=Thu, 01 Jan 1970'))
  assertEquals((await ask(cookie)).seen, null)
  const sessions = kv('sessions/', { store })
  for (const key of (await sessions.list()).keys) assertEquals(await sessions.get(key), 'ended')
})

Deno.test('a store bounds what a session holds', async () => {
  using store = new SqliteStore(':memory:')
  assertEquals((await setUp(store)(undefined, { text: 'x'.repeat(300_000) })).status, 500)
})

Deno.test('a cookie from before the store brings its data along', async () => {
  using store = new SqliteStore(':memory:')
  const { cookie } = await setUp(store, { store: undefined })(undefined, { name: 'Ann' })
  const ask = setUp(store, { rolling: true })
  const { seen, cookie: renewed } = await ask(cookie)
  assertEquals(seen, { name: 'Ann' })
  assertEquals((await kv('sessions/', { store }).list()).keys.length, 1)
  assertEquals((await ask(renewed)).seen, { name: 'Ann' })
})

Deno.test('a store that is none is refused', () => {
  assertThrows(() => session({ cookieSecret: SECRET, store: {} as never }), TypeError, 'a store with get')
  assertThrows(() => rateLimit({ store: new Map() as never }), TypeError, 'a store with get')
})
