import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { toFileUrl } from '@std/path'
import {
  type Bar,
  drawBars,
  drawCharts,
  duration,
  group,
  type Scale,
} from '../../routes/_lib/benchmark/chart.ts'
import { readReports } from '../../routes/_lib/benchmark/reports.ts'
import { createSite } from '../../routes/_site.ts'

Deno.test('the newest whole run of each kind counts, and no part and no quick run', async () => {
  const folder = await Deno.makeTempDir()
  try {
    await Deno.mkdir(`${folder}/benchmark/results`, { recursive: true })
    const root = toFileUrl(`${folder}/`)
    assertEquals(await readReports(root), {})
    const routes = { rows: [], figures: [], duration: 5 }
    const reports: Record<string, object> = {
      'bench.json': { ...routes, date: '2026-01-02', command: 'deno task bench --seconds 5' },
      'old.json': { ...routes, date: '2026-01-01', command: 'deno task bench' },
      'listener.json': { ...routes, date: '2026-01-03', command: 'deno task bench --only test' },
      'quick.json': { ...routes, date: '2026-01-04', command: 'deno task bench --quick' },
      'sandbox.json': {
        rows: [],
        figures: [],
        vmRuns: [],
        date: '2026-01-09',
        command: 'deno task bench --sandbox',
      },
      'isolated.json': { ways: [], date: '2026-01-01', command: 'deno task bench --isolated' },
      'quick.isolated.json': { ways: [], date: '2026-01-05', command: 'deno task bench --isolated --quick' },
      'neighbours.json': { rows: [], connections: 1, date: '2026-01-01' },
      'neighbours-4.json': { rows: [], connections: 4, date: '2026-01-02' },
      'quick.packages.json': { packages: [], figures: [], date: '2026-01-02' },
      'other.json': { date: '2026-01-02' },
    }
    for (const [name, report] of Object.entries(reports)) {
      await Deno.writeTextFile(`${folder}/benchmark/results/${name}`, JSON.stringify(report))
    }
    const names = Object.entries(await readReports(root)).map(([kind, { name }]) => [kind, name]).sort()
    assertEquals(names, [
      ['isolated', 'isolated.json'],
      ['neighbours', 'neighbours-4.json'],
      ['routes', 'bench.json'],
      ['sandbox', 'sandbox.json'],
    ])
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('the axis begins below and ends above every bar, and bars grow with their values', () => {
  const bars = (values: readonly number[]): Bar[] =>
    values.map((value) => ({ group: `g${value}`, label: String(value), value, isOwn: false }))
  const cases: [number[], Scale, string[]][] = [
    [[114_614, 1779], 'linear', ['0', '20,000', '40,000', '60,000', '80,000', '100,000', '120,000']],
    [[3], 'linear', ['0', '1', '2', '3']],
    [[72.9, 133, 17_200], 'logarithmic', ['10', '100', '1,000', '10,000', '100,000']],
    [[100], 'logarithmic', ['100', '1,000']],
  ]
  for (const [values, scale, ticks] of cases) {
    const chart = drawBars(bars(values), scale, group)
    assertEquals(chart.ticks.map(({ text }) => text), ticks)
    const ends = chart.groups.map(({ bars }) => chart.x + bars[0].width)
    for (const end of ends) assert(end <= chart.ticks[chart.ticks.length - 1].x)
    assertEquals(
      ends.toSorted((a, b) => a - b),
      values.toSorted((a, b) => a - b).map((v) => ends[values.indexOf(v)]),
    )
    assert(chart.groups.every(({ bars }) => bars.every(({ y }) => y < chart.bottom)))
  }
  assertEquals([72.9, 1234, 17_200, 2.5e6].map(duration), ['72.9 µs', '1.23 ms', '17.2 ms', '2.5 s'])
})

Deno.test('a phone gets a narrow chart, whose names stand above their bars', () => {
  const bars = [114_614, 1779].map((value) => ({
    group: `/route-${value}`,
    label: group(value),
    value,
    isOwn: true,
  }))
  const { wide, narrow } = drawCharts(bars, 'linear', group)
  assert(narrow.width < wide.width)
  for (const { bars: [bar], y } of narrow.groups) {
    assert(y < bar.y + 1, 'the name is above its bar')
    assert(bar.labelX + 60 < narrow.width, 'the number behind the bar fits')
  }
})

Deno.test('the benchmark page shows every kind that was run, and how', async () => {
  await using site = createSite({ production: true, isolate: false })
  const html = await (await site.fetch(new Request('http://localhost/benchmark'))).text()
  const kinds = Object.keys(await readReports(new URL('../../', import.meta.url)))
  for (const kind of kinds) assertStringIncludes(html, `id="${kind}"`)
  assertStringIncludes(html, 'class="axis"')
  assert(!html.includes('listener.json'))
})
