import { assert, assertEquals, assertStringIncludes, assertThrows } from '@std/assert'
import { ANSWERS } from '../../benchmark/answers.ts'
import { runLoop } from '../../benchmark/isolated/closed_loop.ts'
import { toMustHold } from '../../benchmark/isolated/figures.ts'
import { readHostMemory } from '../../benchmark/isolated/host_memory.ts'
import { WAYS } from '../../benchmark/isolated/plan.ts'
import { formatIsolated, toMarkdown, toSummary } from '../../benchmark/isolated/report.ts'
import {
  type BaselineReport,
  type IsolatedReport,
  type Results,
  toBaselineParts,
  toWayResults,
  type WayRun,
} from '../../benchmark/isolated/results.ts'
import { replaceTable } from '../../benchmark/markdown.ts'
import { toIsolatedSettings } from '../../benchmark/isolated/run.ts'
import { toTimes } from '../../benchmark/isolated/samples.ts'

const flat = (value: number) => ({ p50: value, p90: value, p99: value })

/** `slower`: how much slower than usual the machine was just then. */
function run(route: string, connections: number, p50: number, vm?: number, round = 0, slower = 1): WayRun {
  const samples = vm === undefined ? undefined : {
    requests: 100,
    queue: flat(1),
    run: flat(vm - 10),
    reset: flat(10),
    vm: flat(vm),
    dirtyPages: 64,
    exits: 1,
    unsettled: 0,
  }
  return {
    round,
    route,
    connections,
    requests: 9,
    requestsPerSecond: 20_000,
    p50,
    p90: p50,
    p99: p50,
    failures: 0,
    samples,
    baseline: { roundTripUs: 27 * slower, pageUs: 1.5 / 32 * slower },
  }
}

function baselineReport(roundTrip: number, copy: number): BaselineReport {
  return { baselineUs: roundTrip + copy, roundTrip: flat(roundTrip), copy: flat(copy), copyPages: 32 }
}

const RUNS = [
  run('/test', 1, 20),
  run('/test-isolated', 1, 99, 45),
  run('/test-isolated', 50, 900, 46),
  run('/test-isolated', 50, 900, 96, 1, 2),
  run('/test-isolated', 50, 900, 90, 2),
  run('/test-isolated-hono/hello', 50, 900, 81),
  run('/test-isolated-core', 50, 1000, 60),
  run('/test-cpu', 1, 120),
  run('/test-isolated-cpu', 1, 300, 155),
]

const RESULTS: Results = {
  ways: toWayResults(WAYS, RUNS),
  runs: RUNS,
  vm: {
    baselineUs: 30,
    roundTrip: flat(27),
    copy: flat(1.5),
    copyPages: 32,
    fork: flat(900),
    helloRun: flat(32),
    helloReset: flat(10),
    twoThreads: 40_000,
    twoThreadsBaselineUs: 32,
    poolOfTwo: 30_000,
  },
  boot: { bootMs: 999, answerMs: 1200 },
  memory: { machines: 33, ownKib: 1000, tablesKib: 300, kvmTablesKib: 236, availableKib: 1700 },
  coreMemory: { machines: 33, ownKib: 255, tablesKib: 300, kvmTablesKib: 236, availableKib: 800 },
  starts: {
    deno: {
      baseBootMs: 90,
      baseBytes: 22 << 20,
      startMs: 44,
      coldDeltaBytes: 2e6,
      warmDeltaBytes: 4e6,
      programBytes: 5 << 20,
    },
    core: {
      baseBootMs: 40,
      baseBytes: 12 << 20,
      startMs: 20,
      coldDeltaBytes: 8e5,
      warmDeltaBytes: 9e5,
      programBytes: 2 << 20,
    },
  },
  reload: { worstMs: 500, medianMs: 400, failed: 1 },
  hog: { usualUs: 11, afterUs: [[100, 19, 12], [200, 30, 15]] },
  soak: {
    requests: 100_000,
    wrong: 0,
    lost: 2,
    trends: [{ name: 'maps', constant: false }, { name: 'fds', constant: true }],
  },
}
const NOTHING: Results = {
  ways: [],
  runs: [],
  vm: undefined,
  boot: undefined,
  memory: undefined,
  coreMemory: undefined,
  starts: undefined,
  reload: undefined,
  hog: undefined,
  soak: undefined,
}
const REPORT: IsolatedReport = {
  ...RESULTS,
  machine: { cpu: 'A CPU', cores: 2, memoryGiB: 8, system: 'linux 6 x86_64', deno: '2.9.6', v8: '15' },
  date: '2026-01-02T00:00:00.000Z',
  command: 'deno task bench --isolated',
  seconds: 4,
  rounds: 3,
  failures: [],
}

Deno.test('figures are medians of rounds, and baselines are those of their round', () => {
  const seen = toMustHold(RESULTS).map(({ name, value, wanted, reached }) => [
    name,
    value === undefined ? undefined : Math.round(value * 1000) / 1000,
    wanted === undefined ? undefined : Math.round(wanted * 1000) / 1000,
    reached,
  ])
  assertEquals(seen, [
    // 96 to twice 27 + 2 * 1.5, between 46 and 90 to 30
    ['VM time of /test-isolated', 1.6, 1.6, true],
    ['two threads without HTTP', 40_000, 37_500, true],
    ['HTTP, 50 connections', 20_000, 12_000, true],
    // 99 - 20 - 45
    ['HTTP p50, one connection, besides plain and VM', 34, 40, true],
    // 155 - 45 to 120 - 20
    ['/test-isolated-cpu, VM time', 1.1, 1.1, true],
    ['Hono app of three routes, VM time', 81, 80, false],
    ['fork', 0.9, 2, true],
    ['host memory of a hello VM', 1.5, 1.5, true],
    ['boot to snapshot, warm-up included', 0.999, 1, true],
    // In time, but a request failed.
    ['changed file served', 0.5, 2, false],
    ['hello after a memory hog', 3, 3, true],
    // Two lost, and the maps grew.
    ['100 000 requests', 3, 0, false],
    ['VM time of a core hello', 2, 1.6, false],
    ['private memory of a core hello VM', 255, 256, true],
    ['start of a program, deno', 44, 60, true],
    // Below, and not at most.
    ['delta of a hello, deno', 4, 4, false],
    ['start of a program, core', 20, 20, false],
    ['delta of a hello, core', 0.9, 1, true],
  ])
})

Deno.test('a wrong answer spoils the figures of its route', () => {
  const ways = toWayResults(WAYS, RUNS.map((run) => ({ ...run, failures: 1 })))
  const spoilt = toMustHold({ ...RESULTS, ways }).filter(({ name }) => name.startsWith('HTTP'))
  assertEquals(spoilt.map(({ reached }) => reached), [false, false])
})

Deno.test('a round without its baseline does not count', () => {
  const runs = RUNS.map((run) => run.round === 1 ? { ...run, baseline: undefined } : run)
  const [figure] = toMustHold({ ...RESULTS, runs })
  assertEquals(figure.value, (46 / 30 + 90 / 30) / 2)
  assertEquals(toBaselineParts([]), undefined)
  assertEquals(toBaselineParts([baselineReport(20, 2), baselineReport(40, 4)]), {
    roundTripUs: 30,
    pageUs: 3 / 32,
  })
})

Deno.test('what was not measured is neither reached nor missed', () => {
  for (const { name, value, reached } of toMustHold(NOTHING)) {
    assertEquals([value, reached], [undefined, undefined], name)
  }
})

Deno.test('a hog whose hellos never become quick again is not reached', () => {
  const hog = { usualUs: 11, afterUs: [[100, 12], [100, 50]] }
  const figure = toMustHold({ ...NOTHING, hog }).find(({ name }) => name === 'hello after a memory hog')!
  assertEquals([figure.value, figure.reached], [Infinity, false])
})

Deno.test('the report shows every row, figure and verdict, and replaces what a README had', () => {
  const text = formatIsolated(REPORT)
  for (
    const part of ['A CPU, 2 cores', 'isolated Hono app', 'not reached', '1.60 baselines', 'baseline 30.0']
  ) {
    assertStringIncludes(text, part)
  }
  const summary = toSummary(REPORT)
  assertStringIncludes(summary, '| isolated, stock Deno        |             99.0 µs |            20,000 |')
  const page = (table: string) =>
    `# Title\n\n<!-- begin: a command -->\n\n${table}\n\n<!-- end: a command -->\n\nThe end\n`
  assertEquals(replaceTable(page('old'), 'a command', summary), page(summary))
  assertThrows(() => replaceTable('# No markers\n', 'a command', summary), Error, 'has no <!-- begin')
})

Deno.test('the pages show the published figures', async () => {
  const results = new URL('../../benchmark/results/', import.meta.url)
  const report: IsolatedReport = JSON.parse(await Deno.readTextFile(new URL('isolated.json', results)))
  assertEquals(await Deno.readTextFile(new URL('isolated.md', results)), toMarkdown(report))
  const readme = await Deno.readTextFile(new URL('../../README.md', import.meta.url))
  assertEquals(replaceTable(readme, 'deno task bench --isolated', toSummary(report)), readme)
})

Deno.test('a round in which a program was not warm makes the report doubtful', () => {
  assert(!formatIsolated(REPORT).includes('doubtful'))
  const [first] = RUNS.filter(({ samples }) => samples !== undefined)
  const cold = { ...first, samples: { ...first.samples!, unsettled: 1 } }
  assertStringIncludes(formatIsolated({ ...REPORT, runs: [...RUNS, cold] }), 'doubtful: in 1 of the rounds')
  assertStringIncludes(
    toMarkdown({ ...REPORT, failures: ['probe hog: why'] }),
    '- not measured: probe hog: why',
  )
})

Deno.test('the flags of --isolated', () => {
  const { rounds, seconds, ways } = toIsolatedSettings([])
  assertEquals([rounds, seconds, ways], [3, 4, WAYS])
  assertEquals(toIsolatedSettings(['--quick']).rounds, 1)
  assertEquals(toIsolatedSettings(['--quick', '--rounds', '2', '--seconds', '9']).seconds, 9)
  assertEquals(toIsolatedSettings(['--only', 'test,/test-cpu']).ways.map(({ route }) => route), [
    '/test',
    '/test-cpu',
  ])
  for (const args of [['--fast'], ['--only', 'none'], ['--rounds', '0'], ['--seconds']]) {
    assertThrows(() => toIsolatedSettings(args), TypeError, 'Cannot run the benchmark')
  }
})

Deno.test('every way has an answer', () => {
  for (const { route } of WAYS) assert(Object.hasOwn(ANSWERS, route), route)
})

Deno.test('quantiles of samples', () => {
  assertEquals(toTimes(new Float64Array()), flat(0))
  assertEquals(toTimes(Float64Array.from({ length: 100 }, (_, i) => 99 - i)), { p50: 50, p90: 90, p99: 99 })
})

Deno.test('the memory of this process is in the books of the kernel', () => {
  const { ownKib, availableKib } = readHostMemory()
  assert(ownKib > 1000 && availableKib > 1000, `${ownKib} ${availableKib}`)
})

interface Served {
  readonly origin: URL
  count: number
}

async function withServer(
  answer: (count: number) => Response | Promise<Response>,
  body: (served: Served) => Promise<void>,
): Promise<void> {
  const served = { origin: new URL('http://127.0.0.1'), count: 0 }
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen() {} }, () => answer(served.count++))
  served.origin.port = String(server.addr.port)
  try {
    await body(served)
  } finally {
    await server.shutdown()
  }
}

const LOOP = { connections: 3, seconds: 1, warmUp: 0.05 }

Deno.test('the closed loop asks again and again, and counts', async () => {
  await withServer(() => new Response('right'), async (served) => {
    const result = await runLoop(served.origin, '/', 'right', LOOP)
    assertEquals(result.failures, 0)
    assert(result.requests > 0 && result.requests <= served.count, `${result.requests} of ${served.count}`)
    assert(result.p50 > 0 && result.p50 <= result.p90 && result.p90 <= result.p99)
    assert(result.requestsPerSecond > 0)
  })
})

Deno.test('the closed loop sees every wrong answer', async () => {
  const wrong = [
    () => new Response('wrong'),
    () => new Response('right', { status: 500 }),
    () => new Response('not right'),
    () => new Response('righ'),
  ]
  for (const answer of wrong) {
    // The first ones are right, so that the loop knows how long an answer is.
    await withServer((count) => count < 6 ? new Response('right') : answer(), async (served) => {
      const { failures } = await runLoop(served.origin, '/', 'right', { ...LOOP, connections: 1, warmUp: 0 })
      assertEquals(failures, served.count - 6)
    })
  }
})

Deno.test('the closed loop counts a connection that breaks', async () => {
  const listener = Deno.listen({ hostname: '127.0.0.1', port: 0 })
  const broken = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(1000))
      connection.close()
    }
  })()
  const origin = new URL(`http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`)
  const { requests, failures } = await runLoop(origin, '/', 'right', LOOP)
  listener.close()
  await broken
  assertEquals([requests, failures], [0, 3])
})
