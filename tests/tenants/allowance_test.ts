import { assert, assertEquals } from '@std/assert'
import { Allowance } from '../../src/tenants/allowance.ts'

const NO_LIMITS = {
  concurrency: Infinity,
  waiting: 64,
  cpuMsPerSecond: undefined,
  requestsPerSecond: undefined,
}

Deno.test('a tenant without rates is never refused', () => {
  const allowance = new Allowance(NO_LIMITS, () => 0)
  for (let n = 0; n < 10_000; n++) assertEquals([allowance.take(), allowance.enter()], [null, null])
  allowance.spend(1e9)
  assertEquals(allowance.take(), null)
  assertEquals(allowance.running, 10_000)
})

Deno.test('requestsPerSecond lets a second’s worth through, and as many in each second after it', () => {
  let now = 0
  const allowance = new Allowance({ ...NO_LIMITS, requestsPerSecond: 10 }, () => now)
  const count = () =>
    Array.from({ length: 100 }, () => allowance.take()).filter((refused) => refused === null).length
  assertEquals(count(), 10)
  assertEquals(allowance.take(), { by: 'requestsPerSecond', limit: 10, retryMs: 100 })
  now += 250
  assertEquals(count(), 2)
  now += 60_000
  assertEquals(count(), 10)
  // A lower rate holds at once, and what was used stays used.
  allowance.rates = { ...NO_LIMITS, requestsPerSecond: 2 }
  assertEquals(count(), 0)
  now += 60_000
  assertEquals(count(), 2)
})

Deno.test('cpuMsPerSecond is paid after the run, and debts are waited for', () => {
  let now = 0
  const allowance = new Allowance({ ...NO_LIMITS, cpuMsPerSecond: 100 }, () => now)
  assertEquals(allowance.take(), null)
  allowance.spend(350)
  const refused = allowance.take()
  assertEquals([refused?.by, refused?.limit], ['cpuMsPerSecond', 100])
  now += 2500
  assert(allowance.take() !== null)
  now += 11
  assertEquals(allowance.take(), null)
})

Deno.test('over concurrency requests wait in line, and over waiting they are refused', async () => {
  const allowance = new Allowance({ ...NO_LIMITS, concurrency: 2, waiting: 2 }, () => 0)
  assertEquals([allowance.enter(), allowance.enter()], [null, null])
  const third = allowance.enter()
  const fourth = allowance.enter()
  assertEquals(allowance.enter(), { by: 'waiting', limit: 2, retryMs: 1000 })
  assertEquals([allowance.running, allowance.waiting], [2, 2])
  allowance.leave()
  assertEquals(await third, null)
  assertEquals([allowance.running, allowance.waiting], [2, 1])
  allowance.close()
  assertEquals((await fourth)?.by, 'waiting')
  assertEquals(allowance.waiting, 0)
})
