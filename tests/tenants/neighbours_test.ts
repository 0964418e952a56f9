import { assert, assertEquals } from '@std/assert'
import type { TenantFinder } from '@mayfly/mayfly'
import { testIsolated } from '../isolated/fixture.ts'
import { openTenants, says } from './fixture.ts'

/** Tenants in all, and those of them that are asked again and again. */
const TENANTS = 2000
const BUSY = 50
/** Longer than a busy host takes for a tenant that does no wrong. */
const PATIENT = '{ "limits": { "timeoutMs": 60000 } }'
/** Requests to busy tenants in each round, of which there are two. */
const REQUESTS = 2000

testIsolated('2000 tenants, of which 50 are busy, grow no memory', async () => {
  const from: TenantFinder = (request) => {
    const name = new URL(request.url).hostname.split('.')[0]!
    return { name, version: '1', code: () => ({ mainModule: 'main.js', modules: { 'main.js': says(name) } }) }
  }
  await using site = await openTenants({ tenants: { from }, isolate: { vms: 2, memoryBudgetMb: 512 } })
  for (let n = 0; n < TENANTS; n += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => site.ask(`t${n + i}.test`)))
    answers.forEach(({ text }, i) => assertEquals(text, `t${n + i}`))
  }
  assertEquals(site.router.tenants.list().length, TENANTS)
  const sizes: number[] = []
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < REQUESTS; n += BUSY) {
      const answers = await Promise.all(Array.from({ length: BUSY }, (_, i) => site.ask(`t${i}.test`)))
      answers.forEach(({ status, text }, i) => assertEquals([status, text], [200, `t${i}`]))
    }
    sizes.push(Deno.memoryUsage().rss >> 20)
  }
  assert(sizes[1]! < 2560, `${sizes[1]} MiB`)
  assert(sizes[1]! < sizes[0]! + 256, `${sizes[0]} MiB, then ${sizes[1]}`)
})

testIsolated('a tenant that spins, hogs, floods or swaps itself leaves others answering', async () => {
  await using site = await openTenants({
    files: {
      'good/main.js': says('good'),
      'spins/main.js': 'export default { fetch() { for (;;); } }',
      'hogs/main.js':
        'export default { fetch() { const all = []; for (;;) all.push(new Uint8Array(1 << 25).fill(1)) } }',
      'floods/main.js': says('flood'),
      'floods/tenant.json': '{ "concurrency": 1, "waiting": 4, "requestsPerSecond": 100 }',
      'swaps/main.js': says('0'),
      'good/tenant.json': PATIENT,
      'swaps/tenant.json': PATIENT,
    },
    tenants: { defaults: { limits: { timeoutMs: 500 } } },
    isolate: { vms: 2 },
  })
  assertEquals((await site.ask('swaps.localhost')).text, '0')
  let done = false
  const until = async (work: (n: number) => Promise<unknown>) => {
    for (let n = 1; !done; n++) await work(n)
  }
  const flood = () => Promise.all(Array.from({ length: 50 }, () => site.ask('floods.localhost')))
  const bad = [
    until(() => site.ask('spins.localhost')),
    until(() => site.ask('spins.localhost')),
    until(() => site.ask('hogs.localhost')),
    until(async () => {
      await flood()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }),
    until(async (n) => {
      await site.write({ 'swaps/main.js': says(`${n}`) })
      await site.router.tenants.reload('swaps')
      await new Promise((resolve) => setTimeout(resolve, 500))
    }),
  ]
  for (let n = 0; n < 60; n++) {
    const { status, text } = await site.ask('good.localhost')
    assertEquals([status, text], [200, 'good'])
  }
  // Whoever was noisy had its limits, and nobody else did.
  done = true
  await Promise.all(bad)
  const stats = Object.fromEntries(site.router.tenants.stats().map((row) => [row.name, row]))
  assertEquals([stats.good!.requests, stats.good!.failed, stats.good!.limited], [60, 0, 0])
  assert(stats.spins!.failed > 0 && stats.hogs!.failed > 0 && stats.floods!.limited > 0, Deno.inspect(stats))
  assertEquals(stats.swaps!.failed, 0)
})

testIsolated('tenants that spin on every machine are not waited for', async () => {
  const spins = 'export default { fetch() { for (;;); } }'
  await using site = await openTenants({
    files: {
      'good/main.js': says('good'),
      'spins-1/main.js': spins,
      'spins-2/main.js': spins,
      'spins-3/main.js': spins,
    },
    // They end by time on a CPU, of which a busy host gives them as little as it gives the others.
    tenants: { defaults: { limits: { timeoutMs: 60_000, cpuMs: 3000 } } },
    isolate: { vms: 2 },
  })
  const told = () => Deno.inspect(site.events, { depth: 6 })
  assertEquals((await site.ask('good.localhost')).text, 'good', told())
  let ended = 0
  const spinning = ['spins-1', 'spins-2', 'spins-3'].map(async (name) => {
    const { status } = await site.ask(`${name}.localhost`)
    ended++
    return status
  })
  // They are in their machines by then, or wait for one.
  await new Promise((resolve) => setTimeout(resolve, 500))
  for (let n = 0; n < 5; n++) {
    const { status, text } = await site.ask('good.localhost')
    assertEquals([status, text], [200, 'good'], told())
    // Whoever waited for a machine to be free would be behind one of them.
    assertEquals(ended, 0, told())
  }
  assertEquals(await Promise.all(spinning), [504, 504, 504], told())
})
