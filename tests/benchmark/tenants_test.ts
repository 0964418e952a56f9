import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import type { FoundTenant } from '@mayfly/mayfly'
import type { Row } from '../../benchmark/neighbours/rows.ts'
import { answerOf, BUSY, find, HARMS, hostOf, NEIGHBOUR, TENANTS } from '../../benchmark/tenants/plan.ts'
import { toTenantsPage } from '../../benchmark/tenants/report.ts'
import { LIMIT_BYTES, type TenantsReport, toTenantsFigures } from '../../benchmark/tenants/results.ts'

const MIB = 2 ** 20

async function programOf(host: string): Promise<{ fetch(request: Request): Response } | null> {
  const found = await find(new Request(`http://${host}/`)) as FoundTenant | null
  if (found === null) return null
  const { modules } = await (found.code as () => { modules: Record<string, string> })()
  return (await import(`data:text/javascript,${encodeURIComponent(modules['main.js']!)}`)).default
}

function row(attacker: string, toAlone: number, wrong = 0): Row {
  return { attacker, attacks: 7, count: 200, p50: 1, p99: 4, most: 9, wrong, rounds: [4], toAlone }
}

function report(mib: readonly number[], rows: readonly Row[], failures = 0): TenantsReport {
  const memory = (mib: number) => ({ bytes: mib * MIB, snapshotBytes: 0, availableBytes: 0 })
  const [first, ...points] = mib.map(memory)
  return {
    machine: { cpu: 'a CPU', cores: 2, memoryGiB: 4, system: 'linux', deno: '2', v8: '15' },
    date: '2026-01-02T03:04:05Z',
    command: 'deno task bench --tenants',
    loadAverage: 1.5,
    crowd: { tenants: 2000, busy: 50, requests: 100_000, seconds: 60, failures, first: first!, points },
    rounds: 9,
    seconds: 2,
    rows: [row('nobody', 1), ...rows],
  }
}

const verdicts = (of: TenantsReport) => toTenantsFigures(of).map(({ reached }) => reached)

Deno.test('each tenant of the plan answers as is checked, and hosts of nobody have none', async () => {
  for (const who of [0, BUSY, NEIGHBOUR, TENANTS - 1]) {
    const program = await programOf(hostOf(who))
    const response = program!.fetch(new Request(`http://${hostOf(who)}/a`))
    assertEquals(await response.text(), answerOf(who, '/a'))
    assertEquals(answerOf(who, '/a').length, answerOf(0, '/a').length)
  }
  assert(NEIGHBOUR >= BUSY)
  for (const { name } of HARMS) assertEquals((await find(new Request(`http://${hostOf(name)}/`)))!.name, name)
  assertEquals(await programOf('t1.example.com'), null)
  assertEquals(await programOf(hostOf('t12345')), null)
})

Deno.test('memory, its growth, wrong answers and each neighbour are judged', () => {
  const limit = LIMIT_BYTES / MIB
  assertEquals(verdicts(report([100, 300, 400, 448], [row('a', 2)])), [true, true, true, true])
  // What comes before the middle is start-up.
  assertEquals(verdicts(report([100, 300, 400, 449], [row('a', 2.01)])), [true, false, true, false])
  assertEquals(verdicts(report([limit + 1, 300, 400, 400], [], 1)), [false, true, false])
  assertEquals(verdicts(report([1, 1, 1], [row('a', 1, 1)])), [true, true, true, false])
})

Deno.test('the page tells what must hold, memory and all rows', () => {
  const page = toTenantsPage(report([100, 300, 400], [row('one that spins', 3)]))
  const lines = page.split('\n').map((line) => line.replaceAll(/ +/g, ' '))
  assert(lines.includes('| p99 beside one that spins, to that alone | 3.00 | at most 2.00 | missed |'), page)
  assertStringIncludes(page, 'load average 1.5')
  assertStringIncludes(page, '100 MiB when each of 2000 tenants had answered once, then 300 MiB, 400 MiB')
  assert(lines.includes('| one that spins | 7 | 1.00 | 4.00 | 9.00 | 3.00 | 0 |'), page)
})
