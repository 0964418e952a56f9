import { assert, assertEquals, assertThrows } from '@std/assert'
import { drawChart } from '../../benchmark/chart.ts'
import { makeTree } from '../../benchmark/match.ts'
import { replaceTable } from '../../benchmark/markdown.ts'
import { targets } from '../../benchmark/plan.ts'
import { formatReport, type Report, toMarkdown, toSummary } from '../../benchmark/report.ts'
import { toName, toSettings } from '../../benchmark/run.ts'
import { median, type Run, toFigures, toRows } from '../../benchmark/statistics.ts'
import { makeTemplate } from '../../benchmark/template.ts'
import { FOUND } from '../../src/router/match/tree.ts'
import { match } from '../../src/router/match/match.ts'

function run(
  round: number,
  server: Run['server'],
  route: string,
  requestsPerSecond: number,
  failures = 0,
): Run {
  return { round, server, route, requestsPerSecond, p50: round + 1, p99: 10, failures }
}

const RUNS = [
  run(0, 'bare', '/test', 1000),
  run(0, 'mayfly', '/test', 950),
  run(0, 'mayfly-log', '/test', 912),
  run(1, 'bare', '/test', 500),
  run(1, 'mayfly', '/test', 480),
  run(1, 'mayfly-log', '/test', 470, 3),
  run(2, 'bare', '/test', 2000),
  run(2, 'mayfly', '/test', 1880),
]

Deno.test('median takes the middle, or the mean of two', () => {
  assertEquals([[], [3], [9, 1], [5, 1, 3], [4, 1, 3, 2]].map(median), [undefined, 3, 5, 3, 2.5])
})

Deno.test('ratios are taken within a round, then the median of them', () => {
  const [bare, mayfly, log] = toRows(RUNS)
  assertEquals([bare.requestsPerSecond, mayfly.requestsPerSecond, log.requestsPerSecond], [1000, 950, 691])
  assertEquals([bare.toBare, mayfly.toBare], [1, 0.95])
  assertEquals([mayfly.p50, log.failures], [2, 3])
})

Deno.test('a figure is reached, missed, or not measured; failures never count as reached', () => {
  const figures = new Map(toFigures(RUNS, targets(2)).map((figure) => [figure.name, figure]))
  const bare = figures.get('/test to bare Deno.serve')!
  assertEquals([bare.value, bare.reached, bare.ratios.length], [0.95, true, 3])
  assertEquals(figures.get('/test to Hono')!.reached, undefined)
  const log = figures.get('empty listener on to off, /test')!
  assert(log.value! > 0.95)
  assertEquals(log.reached, false)
})

Deno.test('the report and the chart name the machine, every row and what was skipped', () => {
  const machine = {
    cpu: 'A <fast> CPU',
    cores: 2,
    memoryGiB: 8,
    system: 'linux 6 x86_64',
    deno: '2.9.6',
    v8: '15',
  }
  const report: Report = {
    machine,
    date: '2026-01-02T00:00:00.000Z',
    command: 'deno task bench --quick',
    duration: 2,
    rounds: 3,
    skipped: [{ route: '/test-isolated', server: 'mayfly-isolated', reason: 'status 503, want 200' }],
    rows: toRows(RUNS),
    figures: toFigures(RUNS, targets(2)),
    runs: RUNS,
  }
  const text = formatReport(report)
  for (
    const part of [
      'A <fast> CPU, 2 cores',
      '/test',
      'mayfly-log',
      '0.950',
      'reached',
      'not measured',
      '(3 failed)',
      'status 503',
    ]
  ) {
    assert(text.includes(part), part)
    assert(toMarkdown(report).includes(part), `${part} on the page`)
  }
  const chart = drawChart(report)
  for (
    const part of ['A &lt;fast&gt; CPU', 'prefers-color-scheme: dark', '1,000 bare', '>/test<', '2026-01-02']
  ) {
    assert(chart.includes(part), part)
  }
  assertEquals(chart.match(/<rect class="(?!page)/g)?.length, 3)
  assertEquals([...chart.matchAll(/text-anchor="middle">([\d,]+)</g)].map(([, tick]) => tick), [
    '0',
    '200',
    '400',
    '600',
    '800',
    '1,000',
  ])
})

Deno.test('toSettings reads the flags and refuses what it does not know', () => {
  assertEquals(toSettings([]).duration, 30)
  assertEquals(toSettings(['--quick', '--rounds', '5']).rounds, 5)
  assertEquals(toSettings(['--only', 'test-cpu,/test']).groups.map(({ route }) => route), [
    '/test',
    '/test-cpu',
  ])
  for (const args of [['--fast'], ['--only'], ['--only', 'none'], ['--rounds', '0'], ['--rounds']]) {
    assertThrows(() => toSettings(args), TypeError, 'Cannot run the benchmark')
  }
})

Deno.test('only a whole run of full length takes the place of the published one', () => {
  const names = [[], ['--seconds', '5'], ['--only', '/test'], ['--quick'], ['--quick', '--only', '/test']]
    .map((args) => toName(toSettings(args)))
  assertEquals(names, ['bench', 'bench', 'part', 'quick', 'quick'])
})

Deno.test('the pages show the published figures of routes', async () => {
  const results = new URL('../../benchmark/results/', import.meta.url)
  const report: Report = JSON.parse(await Deno.readTextFile(new URL('bench.json', results)))
  assertEquals(await Deno.readTextFile(new URL('bench.md', results)), toMarkdown(report))
  const readme = await Deno.readTextFile(new URL('../../README.md', import.meta.url))
  assertEquals(replaceTable(readme, 'deno task bench', toSummary(report)), readme)
})

Deno.test('the inputs of the other benchmarks are what they say', () => {
  const { tree, paths } = makeTree(100)
  for (const [kind, list] of Object.entries(paths)) {
    for (const path of list) {
      assertEquals(match(tree, path, 'GET').outcome === FOUND, kind !== 'no route', path)
    }
  }
  const { length } = makeTemplate()
  assert(length > 999_000 && length <= 1_000_000)
})
