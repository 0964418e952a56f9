import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { Durations } from '../../benchmark/soak/durations.ts'
import { type HostResources, toTrends } from '../../benchmark/soak/host_resources.ts'
import { CLEAN, findFault, HOSTILE, kindOf } from '../../benchmark/soak/kinds.ts'

Deno.test('quantiles of durations are within 2.5 % of the exact ones', () => {
  const durations = new Durations()
  const all = Array.from({ length: 10_000 }, (_, index) => 0.05 * 1.0009 ** ((index * 7919) % 10_000))
  for (const ms of all) durations.add(ms)
  const sorted = all.toSorted((a, b) => a - b)
  for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1]
    const ratio = durations.quantile(share) / exact
    assert(ratio > 0.974 && ratio < 1.026, `${share}: ${ratio}`)
  }
  assertEquals([durations.count, durations.most], [10_000, sorted.at(-1)])
  assertEquals(new Durations().quantile(0.5), 0)
})

Deno.test('a column that grows is seen, one that wavers is not', () => {
  const sample = (index: number, growth: number): HostResources => ({
    rss: 300_000 + (index % 7) * 1000 + index * growth,
    fds: 50 + index % 2,
    maps: 300 + index % 5,
    threads: 12,
  })
  const judge = (growth: number) => toTrends(Array.from({ length: 100 }, (_, index) => sample(index, growth)))
  assertEquals(judge(0).map(({ constant }) => constant), [true, true, true, true])
  assertEquals(judge(1000).map(({ constant }) => constant), [false, true, true, true])
  const { first, last, most } = judge(0)[1]
  assertEquals([first, last, most], [50, 51, 51])
})

Deno.test('hostile requests come at even distances, each kind in turn, the dear ones less often', () => {
  const kinds = Array.from({ length: 20_000 }, (_, id) => kindOf(id, 0.05))
  const hostile = kinds.filter((kind) => HOSTILE.includes(kind))
  assertEquals(hostile.length, 1000)
  assertEquals(new Set(hostile).size, HOSTILE.length)
  const often = (name: string) => hostile.filter((kind) => kind.name === name).length
  assert(often('memory hog') * 4 < often('crash'))
  assert(kinds.slice(0, 100).filter((kind) => HOSTILE.includes(kind)).length === 5)
  assert(Array.from({ length: 1000 }, (_, id) => kindOf(id, 0)).every((kind) => CLEAN.includes(kind)))
})

Deno.test('findFault tells right answers from wrong ones', () => {
  const [hello, count] = CLEAN
  assertEquals(findFault(hello, 7, 200, '{"id":"7","calls":1}'), undefined)
  assertEquals(findFault(count, 7, 200, '{"id":"7","calls":1,"marks":[]}'), undefined)
  assertStringIncludes(findFault(hello, 7, 200, '{"id":"8","calls":1}')!, 'want {"id":"7"')
  assertStringIncludes(findFault(hello, 7, 200, '{"id":"7","calls":2}')!, '"calls":2')
  assertStringIncludes(findFault(hello, 7, 503, 'busy')!, 'status 503, want 200')
  const exit = HOSTILE.find(({ name }) => name === 'exit')!
  assertEquals(findFault(exit, 1, 502, '{"type":"isolation-crash"}'), undefined)
  assertStringIncludes(findFault(exit, 1, 502, '{"type":"isolation-output"}')!, 'isolation-output')
})
