import { rateLimit, session } from '@mayfly/mayfly'
import { kv, KvError, ValkeyStore } from '@mayfly/mayfly/reach'
import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { makeSite, SECRET, statusOf } from '../middleware/site.ts'
import { testStore } from './kv_stores.ts'
import { startValkey, VALKEY_COMMAND } from './valkey_server.ts'

const ignore = VALKEY_COMMAND === null
const ROOT = new URL('../../', import.meta.url)

testStore('valkey', ignore, async () => {
  const server = await startValkey()
  const store = new ValkeyStore(server.url)
  return {
    store,
    async [Symbol.asyncDispose]() {
      store.close()
      await server.stop()
    },
  }
})

Deno.test({
  name: 'valkey: a space leaves nothing behind when the last of its keys expires',
  ignore,
  async fn() {
    await using server = await startValkey()
    using store = new ValkeyStore(server.url)
    const db = kv('short', { store })
    await db.set('a', 1, { ttlMs: 20 })
    await db.increment('b', 1, { ttlMs: 40 })
    assertEquals(await kv('long', { store }).increment('n'), 1)
    for (let tries = 0; tries < 200 && await countKeys(server.port) > 3; tries++) await sleep(10)
    // Of `long`: values, keys and bytes.
    assertEquals(await countKeys(server.port), 3)
    assertEquals([await db.increment('b'), await db.get('a')], [1, undefined])
  },
})

Deno.test({
  name: 'valkey: a list goes past what expired',
  ignore,
  async fn() {
    await using server = await startValkey()
    using store = new ValkeyStore(server.url)
    const db = kv('l', { store })
    for (let index = 0; index < 40; index++) {
      await db.set(`k${index + 10}`, index, index % 10 === 0 ? {} : { ttlMs: 60_000 })
    }
    for (let index = 0; index < 40; index++) {
      if (index % 10 !== 0) await db.set(`k${index + 10}`, index, { ttlMs: 1 })
    }
    await sleep(10)
    assertEquals(await db.list({ limit: 3 }), { keys: ['k10', 'k20', 'k30'], cursor: 'k30' })
    assertEquals(await db.list({ limit: 3, cursor: 'k30' }), { keys: ['k40'], cursor: null })
  },
})

Deno.test({
  name: 'valkey: several processes count together, and end beside an open connection',
  ignore,
  async fn() {
    await using server = await startValkey()
    const code = `import { kv } from ${JSON.stringify(new URL('src/reach/mod.ts', ROOT).href)}
const db = kv('p', { url: Deno.args[0] })
for (let i = 0; i < 200; i++) await db.increment('n')`
    const script = await Deno.makeTempFile({ suffix: '.ts' })
    try {
      await Deno.writeTextFile(script, code)
      const run = () =>
        new Deno.Command(Deno.execPath(), {
          args: [
            'run',
            '-A',
            '--no-check',
            '--config',
            new URL('deno.json', ROOT).pathname,
            script,
            server.url,
          ],
          stderr: 'inherit',
          signal: AbortSignal.timeout(120_000),
        }).output()
      const runs = await Promise.all([run(), run(), run()])
      assert(runs.every(({ success }) => success))
    } finally {
      await Deno.remove(script)
    }
    using store = new ValkeyStore(server.url)
    assertEquals(await kv('p', { store }).get('n'), 600)
  },
})

Deno.test({
  name: 'valkey: an outage fails in words that name no server, and is over when the server is back',
  ignore,
  async fn() {
    const server = await startValkey()
    using store = new ValkeyStore(server.url)
    const db = kv('o', { store })
    await db.set('k', 1)
    await server.stop()
    for (let tries = 0; tries < 3; tries++) {
      const error = await assertRejects(() => db.get('k'), KvError, 'does not answer')
      assert(!`${error.message}${error.stack}`.includes(`${server.port}`))
    }
    await using _again = await startValkey(server.port)
    const back = async () => {
      for (let tries = 0;; tries++) {
        try {
          return await db.increment('n')
        } catch (error) {
          if (tries > 100) throw error
          await sleep(50)
        }
      }
    }
    assertEquals(await back(), 1)
    assertEquals(await db.get('k'), undefined)
  },
})

Deno.test('valkey: a server that never answers ends what waits for it', async () => {
  using listener = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  const silent = (async () => {
    const connections: Deno.Conn[] = []
    try {
      for await (const connection of listener) connections.push(connection)
    } finally {
      for (const connection of connections) connection.close()
    }
  })()
  using store = new ValkeyStore(`redis://127.0.0.1:${listener.addr.port}`, { answerMs: 50 })
  const db = kv('s', { store })
  const asked = await Promise.allSettled([db.get('a'), db.set('a', 1), db.increment('a')])
  assertEquals(asked.map(({ status }) => status), ['rejected', 'rejected', 'rejected'])
  listener.close()
  await silent.catch(() => {})
})

Deno.test({
  name: 'valkey: a password opens, and is in no error',
  ignore,
  async fn() {
    await using server = await startValkey(undefined, ['--requirepass', 'open-sesame-7'])
    const url = (password: string) => `valkey://:${password}@127.0.0.1:${server.port}`
    using right = new ValkeyStore(url('open-sesame-7'))
    assertEquals(await kv('p', { store: right }).increment('n'), 1)
    using wrong = new ValkeyStore(url('wrong-password-9'))
    const error = await assertRejects(() => kv('p', { store: wrong }).get('n'), KvError)
    assert(!Deno.inspect(error, { depth: 9 }).includes('wrong-password-9'))
  },
})

Deno.test('valkey: URLs that are none are refused, without what is in them', () => {
  for (const url of ['localhost:6379', 'http://:secret-1@x', 'valkey://', '::', 'file:///etc/passwd']) {
    const error = assertThrows(() => kv('a', { url }), TypeError, 'url')
    assert(!error.message.includes('secret-1'))
  }
  assertThrows(() => kv('a', { url: 'valkey://x', path: 'y' }), TypeError, 'path and url are given')
})

Deno.test({
  name: 'valkey: sessions and rate limits of several servers share it',
  ignore,
  async fn() {
    await using server = await startValkey()
    using store = new ValkeyStore(server.url)
    const limits = kv('limits/', { store })
    const sites = [1, 2].map(() => makeSite([rateLimit({ limit: 3, windowMs: 120_000, store: limits })]))
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, at) => statusOf(sites[at % 2].ask('/', { ip: '203.0.113.9' }))),
    )
    assertEquals(many.filter((status) => status === 200).length, 3)

    let data: { name: string } | null | undefined = { name: 'Ann' }
    const seen: unknown[] = []
    const [first, second] = [1, 2].map(() =>
      makeSite([session({ cookieSecret: SECRET, store: kv('sessions/', { store }) }), (ctx, next) => {
        seen.push(ctx.get.session())
        if (data !== undefined) ctx.set.session(data)
        return next()
      }])
    )
    const ask = async ({ ask }: typeof first, cookie = '') => {
      const response = await ask('/', { headers: { cookie } })
      await response.body?.cancel()
      return response.headers.getSetCookie()[0]?.split(';')[0]
    }
    const cookie = await ask(first!)
    data = undefined
    await ask(second!, cookie)
    data = null
    await ask(second!, cookie)
    data = undefined
    await ask(first!, cookie)
    assertEquals(seen, [null, { name: 'Ann' }, { name: 'Ann' }, null])
  },
})

async function countKeys(port: number): Promise<number> {
  using connection = await Deno.connect({ hostname: '127.0.0.1', port })
  await connection.write(new TextEncoder().encode('DBSIZE\r\n'))
  const answer = new Uint8Array(64)
  const length = await connection.read(answer)
  return Number(new TextDecoder().decode(answer.subarray(1, length!)))
}

function sleep(ms: number): Promise<void> {
  return new Promise((go) => setTimeout(go, ms))
}
