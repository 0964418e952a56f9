import { assert, assertEquals } from '@std/assert'
import { begin, mayPromote, succeed } from '../../src/sandbox/back_off.ts'
import { inEachSandbox } from './fixture.ts'

Deno.test('a program that swaps itself twice a second gets no snapshot after its first', () => {
  let version = begin(0)
  const promoted: number[] = []
  for (let now = 0; now < 600_000; now += 500) {
    if (now > 0) version = succeed(version, now)
    for (let later = now; later < now + 500; later += 100) {
      if (mayPromote(version, later)) promoted.push(now)
    }
  }
  assertEquals([...new Set(promoted)], [0])
})

Deno.test('a version that stays gets its snapshot, and the next one at once', () => {
  let version = begin(0)
  for (let now = 500; now <= 5000; now += 500) version = succeed(version, now)
  assertEquals(version, { since: 5000, waitMs: 60_000 })
  assert(!mayPromote(version, 64_999) && mayPromote(version, 65_000))
  assertEquals(succeed(version, 5000 + 119_999).waitMs, 60_000)
  assertEquals(succeed(version, 5000 + 120_000).waitMs, 0)
  // A single change, and another one soon after.
  const second = succeed(begin(0), 10_000)
  assertEquals([second.waitMs, succeed(second, 12_000).waitMs], [0, 1000])
})

inEachSandbox({ promoteAfter: 1 }, ({ runtime, test, sandbox }) => {
  test('versions that follow each other at once are served, and not warmed up one by one', async () => {
    const ready: unknown[] = []
    const stop = sandbox().on('sandbox:ready', ({ metadata }) => void ready.push(metadata))
    const name = `swaps ${runtime}`
    for (let version = 0; version < 12; version++) {
      const modules = { 'main.js': `export const version = () => ${version}` }
      const worker = sandbox().get(name, { mainModule: 'main.js', modules }, { version: `${version}` })
      await worker.ready()
      for (let call = 0; call < 3; call++) assertEquals(await worker.call('version'), version)
    }
    stop()
    // The first one; the second one on a machine so busy that it had its second.
    assert(ready.length <= 3, Deno.inspect(ready))
  })
})
