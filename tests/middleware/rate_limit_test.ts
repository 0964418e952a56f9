import { rateLimit } from '@mayfly/mayfly'
import { assert, assertEquals } from '@std/assert'
import { createBuckets, takeToken } from '../../src/middleware/token_buckets.ts'
import { addressKey } from '../../src/middleware/rate_limit.ts'
import { answer, assertRefused, makeSite, statusOf } from './site.ts'

Deno.test('takeToken allows a burst, then the rate', () => {
  const buckets = createBuckets(3, 3000, 10)
  const allowed = [0, 0, 0, 0, 999, 1000, 1000, 2000].map((now) => takeToken(buckets, 'a', now).allowed)
  assertEquals(allowed, [true, true, true, false, false, true, false, true])
})

Deno.test('takeToken says what is left and how long to wait', () => {
  const buckets = createBuckets(2, 2000, 10)
  assertEquals(takeToken(buckets, 'a', 0), { allowed: true, remaining: 1, resetMs: 1000, retryMs: 0 })
  assertEquals(takeToken(buckets, 'a', 0), { allowed: true, remaining: 0, resetMs: 2000, retryMs: 0 })
  assertEquals(takeToken(buckets, 'a', 250), { allowed: false, remaining: 0, resetMs: 1750, retryMs: 750 })
})

Deno.test('takeToken never holds more than the limit', () => {
  const buckets = createBuckets(2, 1000, 10)
  takeToken(buckets, 'a', 0)
  const allowed = [0, 1, 2].map(() => takeToken(buckets, 'a', 1e9).allowed)
  assertEquals(allowed, [true, true, false])
})

Deno.test('takeToken keeps keys apart and forgets the longest quiet one', () => {
  const buckets = createBuckets(1, 1000, 2)
  for (const key of ['a', 'b', 'a', 'c']) takeToken(buckets, key, 0)
  assertEquals([...buckets.byKey.keys()], ['a', 'c'])
  assertEquals(takeToken(buckets, 'a', 0).allowed, false)
})

Deno.test('takeToken allows no more than a naive count over any span, for random arrivals', () => {
  let seed = 42
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648
  for (let round = 0; round < 50; round++) {
    const limit = 1 + Math.floor(random() * 10)
    const buckets = createBuckets(limit, 1000, 4)
    const passed: number[] = []
    let now = 0
    for (let step = 0; step < 300; step++) {
      now += random() * 120
      const { allowed, retryMs } = takeToken(buckets, 'k', now)
      if (allowed) passed.push(now)
      else assert(retryMs > 0 && retryMs <= 1000 / limit + 1e-6)
    }
    for (let from = 0; from < passed.length; from++) {
      for (let to = from; to < passed.length; to++) {
        const most = limit + (passed[to] - passed[from]) * limit / 1000
        assert(to - from + 1 <= most + 1e-6, `${to - from + 1} passed, at most ${most} may`)
      }
    }
  }
})

Deno.test('rateLimit counts by client and refuses with 429 and Retry-After', async () => {
  const { ask } = makeSite([rateLimit({ limit: 2, windowMs: 120_000 })])
  assertEquals([await statusOf(ask('/')), await statusOf(ask('/'))], [200, 200])
  const refused = await ask('/', { headers: { accept: 'application/json' } })
  assertEquals(refused.status, 429)
  assertEquals(refused.headers.get('retry-after'), '60')
  assertEquals((await refused.json()).detail, 'Too many requests')
  assertEquals(await statusOf(ask('/', { ip: '203.0.113.8' })), 200)
})

Deno.test('rateLimit tells limit, rest and reset, on errors too', async () => {
  const { ask } = makeSite([rateLimit({ limit: 5, windowMs: 50_000 })])
  await statusOf(ask('/'))
  const { headers } = await ask('/boom')
  assertEquals(headers.get('ratelimit-limit'), '5')
  assertEquals(headers.get('ratelimit-remaining'), '3')
  assertEquals(headers.get('ratelimit-reset'), '20')
  assertEquals(headers.get('ratelimit-policy'), '"default";q=5;w=50')
  assertEquals(headers.get('ratelimit'), '"default";r=3;t=20')
})

Deno.test('rateLimit keeps its headers to itself when told', async () => {
  const { headers } = await makeSite([rateLimit({ headers: false })]).ask('/')
  assertEquals([...headers.keys()].filter((name) => name.startsWith('ratelimit')), [])
})

Deno.test('rateLimit cannot be passed by X-Forwarded-For', async () => {
  const { ask } = makeSite([rateLimit({ limit: 1 })])
  await statusOf(ask('/', { headers: { 'x-forwarded-for': '1.1.1.1' } }))
  assertEquals(await statusOf(ask('/', { headers: { 'x-forwarded-for': '2.2.2.2' } })), 429)
})

Deno.test('rateLimit counts an IPv6 client by its network', async () => {
  const { ask } = makeSite([rateLimit({ limit: 1 })])
  await statusOf(ask('/', { ip: '2001:db8:1:2::1' }))
  assertEquals(await statusOf(ask('/', { ip: '2001:db8:1:2:ffff::9' })), 429)
  assertEquals(await statusOf(ask('/', { ip: '2001:db8:1:3::1' })), 200)
})

Deno.test('addressKey gives clients without an address one key', async () => {
  const { ask } = makeSite([answer((ctx) => addressKey(ctx))])
  assertEquals(await (await ask('/', { ip: null })).json(), 'unknown')
  assertEquals(await (await ask('/', { ip: '2001:db8::1' })).json(), '2001:db8:0:0::/64')
  assertEquals(await (await ask('/', { ip: '::ffff:10.0.0.1' })).json(), '10.0.0.1')
})

Deno.test('rateLimit counts by the key that is given, and lets undefined pass', async () => {
  const key = (ctx: { get: { header(name: string): string | undefined } }) =>
    Promise.resolve(ctx.get.header('x-user'))
  const { ask } = makeSite([rateLimit({ limit: 1, key, message: 'Slow down' })])
  const as = (user: string) => ask('/', { headers: { 'x-user': user } })
  assertEquals([await statusOf(as('a')), await statusOf(as('a')), await statusOf(as('b'))], [200, 429, 200])
  assertEquals([await statusOf(ask('/')), await statusOf(ask('/'))], [200, 200])
})

Deno.test('two rateLimits count apart', async () => {
  const { ask } = makeSite([rateLimit({ limit: 5 }), rateLimit({ limit: 1 })])
  assertEquals([await statusOf(ask('/')), await statusOf(ask('/'))], [200, 429])
})

Deno.test('rateLimit checks its options', () => {
  assertRefused(() => rateLimit({ limit: 0 }), RangeError, 'Cannot make rateLimit: limit is 0')
  assertRefused(() => rateLimit({ windowMs: 0.5 }), RangeError, 'windowMs is 0.5')
  assertRefused(
    () => rateLimit({ maxKeys: 0 }),
    RangeError,
    'maxKeys is 0, want an integer from 1 to 10000000',
  )
  assertRefused(() => rateLimit({ key: 'ip' as never }), TypeError, 'key is "ip", want a function')
})
