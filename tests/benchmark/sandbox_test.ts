import { assert, assertEquals, assertNotEquals, assertStringIncludes, assertThrows } from '@std/assert'
import { drawSandbox } from '../../benchmark/sandbox/chart.ts'
import { exchanges, numbers } from '../../benchmark/sandbox/load.ts'
import { BASELINE, findWay, SANDBOX_WAYS, throughs } from '../../benchmark/sandbox/plan.ts'
import {
  FIRST_NUMBER,
  ORDER,
  toAnswer,
  toAsk,
  toFetchSource,
  toSource,
} from '../../benchmark/sandbox/program.ts'
import { toSandboxPage } from '../../benchmark/sandbox/report.ts'
import {
  type SandboxReport,
  type SandboxRun,
  toSandboxFigures,
  toSandboxRows,
  type VmRun,
} from '../../benchmark/sandbox/results.ts'
import { openRunner } from '../../benchmark/sandbox/runner.ts'
import { toSandboxSettings } from '../../benchmark/sandbox/run.ts'

function run(way: string, round: number, p50: number, more: Partial<SandboxRun> = {}): SandboxRun {
  return {
    way,
    round,
    through: 'http',
    connections: 1,
    requests: 100,
    requestsPerSecond: 1e6 / p50,
    p50,
    p90: 2 * p50,
    p99: 3 * p50,
    failures: 0,
    residentBytes: 64 << 20,
    ...more,
  }
}

// The second round was slow for all; a quotient of medians would say 1000 to 6000 here.
const RUNS = [
  run('run', 0, 500),
  run(BASELINE, 0, 6000),
  run('run', 1, 5000),
  run(BASELINE, 1, 50_000),
  run('run', 2, 1000),
  run(BASELINE, 2, 5000),
  run('run', 0, 300, { through: 'call' }),
  run('run', 0, 100, { connections: 8 }),
  run(BASELINE, 0, 2000, { connections: 8 }),
]

const VM_RUNS: readonly VmRun[] = [
  { runtime: 'deno', turns: [{ routeUs: 40, getUs: 48 }, { routeUs: 400, getUs: 440 }] },
  { runtime: 'deno', turns: [{ routeUs: 50, getUs: 55 }] },
]

const REPORT: SandboxReport = {
  machine: { cpu: 'a CPU', cores: 2, memoryGiB: 4, system: 'linux', deno: '2', v8: '15' },
  date: '2026-01-02T03:04:05Z',
  command: 'deno task bench --sandbox',
  peers: ['workerd 2026-01-01', 'isolated-vm 1.2.3, Node v24'],
  loadAverage: 1.5,
  seconds: 1,
  rounds: 3,
  rows: toSandboxRows(SANDBOX_WAYS, RUNS),
  figures: toSandboxFigures(RUNS, VM_RUNS),
  runs: RUNS,
  vmRuns: VM_RUNS,
  promotionRuns: [],
  skipped: ['fresh deno process: it failed'],
}

Deno.test('a program of each number answers what was worked out apart from it', async () => {
  for (const number of [FIRST_NUMBER, FIRST_NUMBER + 7]) {
    const module = await import(`data:text/javascript,${encodeURIComponent(toSource(number))}`)
    assertEquals(JSON.stringify(module.total(ORDER)), toAnswer(number))
    assertEquals(module.default.total, module.total)
    const app = await import(`data:text/javascript,${encodeURIComponent(toFetchSource(number))}`)
    const request = new Request('http://localhost/', { method: 'POST', body: JSON.stringify(ORDER) })
    assertEquals(await (await app.default.fetch(request)).text(), toAnswer(number))
  }
  assertEquals(toAnswer(FIRST_NUMBER).length, toAnswer(2 * FIRST_NUMBER).length)
})

Deno.test('each request brings another program, but where the program stays', () => {
  const origin = new URL('http://127.0.0.1:1')
  const texts = (id: string) => {
    const next = exchanges(origin, findWay(id))
    return [next(), next()].map(({ request, wanted }) =>
      [request, wanted].map((bytes) => new TextDecoder().decode(bytes))
    )
  }
  const [[first, answer], [second, other]] = texts('run')
  assertNotEquals(first, second)
  assertNotEquals(answer, other)
  assertEquals(answer, toAnswer(FIRST_NUMBER))
  const [head, body] = first.split('\r\n\r\n')
  assertStringIncludes(head, `\r\nContent-Length: ${body.length}`)
  assertEquals(JSON.parse(body), toAsk(FIRST_NUMBER))
  const [same, again] = texts('workerd-get-warm')
  assertEquals(same, again)
  assert(same[0].startsWith('POST /get '))
  const next = numbers({ isWarm: false })
  assertEquals([next(), next(), next()].map((number) => number - FIRST_NUMBER), [0, 1, 2])
})

Deno.test('a fresh worker and a fresh process give what the program gives', async () => {
  for (const id of ['worker', 'process']) {
    const { ask, close } = await openRunner(findWay(id))
    assertEquals(JSON.stringify(await ask(toAsk(FIRST_NUMBER + 1))), toAnswer(FIRST_NUMBER + 1))
    await close()
  }
})

Deno.test('rows are medians in the order of the plan, compared within each round', () => {
  assertEquals(
    REPORT.rows.map(({ way, through, connections, p50 }) => [way, through, connections, p50]),
    [
      ['run', 'http', 1, 1000],
      ['run', 'http', 8, 100],
      ['run', 'call', 1, 300],
      [BASELINE, 'http', 1, 6000],
      [BASELINE, 'http', 8, 2000],
    ],
  )
  assertEquals(REPORT.rows.map(({ p50ToLoad }) => p50ToLoad), [0.1, 0.05, 0.05, 1, 1])
  assertEquals(REPORT.rows[1].rateToLoad, 20)
})

Deno.test('the figures are reached or missed, or were not measured', () => {
  const verdicts = (runs: readonly SandboxRun[]) =>
    toSandboxFigures(runs).map(({ reached }) => reached).slice(0, 3)
  assertEquals(toSandboxFigures(RUNS).map(({ seen }) => seen), [
    0.1,
    undefined,
    20,
    ...Array(6).fill(undefined),
  ])
  assertEquals(verdicts(RUNS), [true, undefined, true])
  assertEquals(verdicts([...RUNS, run('run', 3, 900), run(BASELINE, 3, 5000)]), [false, undefined, true])
  assertEquals(verdicts([run('run-core', 0, 500), run(BASELINE, 0, 7500)]), [undefined, true, undefined])
  assertEquals(verdicts([run('run-core', 0, 510), run(BASELINE, 0, 7500)]), [undefined, false, undefined])
  assertEquals(verdicts([]), [undefined, undefined, undefined])
})

Deno.test('VM times are compared within each turn', () => {
  const [deno, core] = toSandboxFigures([], VM_RUNS).slice(3)
  assertEquals([deno.seen, deno.reached], [1.1, true])
  assertEquals([core.seen, core.reached], [undefined, undefined])
  const slow = toSandboxFigures([], [{ runtime: 'core', turns: [{ routeUs: 100, getUs: 116 }] }])
  assertEquals(slow[4].reached, false)
})

Deno.test('a promotion delays the longest call by so much, and fails none', () => {
  const side = (most: number) => ({ p50: 1, p99: 2, most, cpuMost: 1 + most / 2, calls: 100 })
  const figures = (delays: number[], failures = 0) => {
    const turns = delays.map((delay) => ({ quiet: side(3), promoting: side(3 + delay), bootMs: 9, failures }))
    return toSandboxFigures([], [], [{ runtime: 'core', turns }])
  }
  const promotions = (delays: number[], failures = 0) => figures(delays, failures).at(-1)!
  // By the clock, and of the host's own time.
  assertEquals(figures([9, 5, 1]).slice(-2).map(({ seen }) => seen), [2.5, 5])
  assertEquals(figures([12, 12, 1]).slice(-2).map(({ reached }) => reached), [false, false])
  assertEquals([promotions([9, 5, 1]).seen, promotions([9, 5, 1]).reached], [5, true])
  assertEquals([promotions([9, 6, 1]).reached, promotions([1], 1).reached], [false, false])
})

Deno.test('a run with a failed request, or none at all, reaches nothing', () => {
  const [first] = toSandboxFigures([run('run', 0, 1, { failures: 1 }), run(BASELINE, 0, 5000)])
  assertEquals(first.reached, false)
  const [none] = toSandboxFigures([run('run', 0, 0, { requests: 0, failures: 9 }), run(BASELINE, 0, 5000)])
  assertEquals([none.seen, none.reached], [undefined, undefined])
})

Deno.test('the page shows every row, what must hold, and what was not measured', () => {
  const page = toSandboxPage(REPORT)
  assertStringIncludes(page, 'load average 1.5; workerd 2026-01-01; isolated-vm 1.2.3, Node v24.')
  assertStringIncludes(page, 'Not measured: fresh deno process: it failed')
  const lines = page.split('\n').map((line) => line.replaceAll(/ +/g, ' '))
  assert(lines.includes('| run | HTTP | 1 | 1,000 | 1.00 ms | 3.00 ms | 64 MiB | 100 | 0.100 | 10.0 |'), page)
  assert(lines.includes('| p50 of run to load(), one connection | 0.100 | at most 0.100 | reached |'), page)
  assert(
    lines.includes('| p50 of run to load(), one connection, core | | at most 0.067 | not measured |'),
    page,
  )
})

Deno.test('the chart has a bar for each way over HTTP, coloured by whose it is', () => {
  const svg = drawSandbox(REPORT)
  assertEquals(svg.match(/<rect class="mayfly"/g)?.length, 1)
  assertEquals(svg.match(/<rect class="peer"/g)?.length, 1)
  assertStringIncludes(svg, '10,000, p50 1.00 ms')
})

Deno.test('flags choose ways, rounds and seconds, and others are refused', () => {
  const { whole, rounds, seconds, ways } = toSandboxSettings([])
  assertEquals([whole, rounds, seconds, ways], [true, 3, 4, SANDBOX_WAYS])
  const some = toSandboxSettings(['--quick', '--rounds', '2', '--only', `run,${BASELINE}`])
  assertEquals([some.whole, some.rounds, some.seconds], [false, 2, 1])
  assertEquals(some.ways.map(({ id }) => id), ['run', BASELINE])
  for (const args of [['--none'], ['--rounds', '0'], ['--seconds', 'x'], ['--only', 'nothing']]) {
    assertThrows(() => toSandboxSettings(args), TypeError)
  }
})

Deno.test('only machines of this project are asked by calls too', () => {
  assertEquals(
    SANDBOX_WAYS.filter((way) => throughs(way).includes('call')).map(({ host }) => host),
    Array(6).fill('mayfly'),
  )
  assert(SANDBOX_WAYS.every((way) => throughs(way).includes('http')))
})
