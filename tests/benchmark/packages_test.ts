import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { drawPackages } from '../../benchmark/packages/chart.ts'
import type { PackageTimes } from '../../benchmark/packages/measure.ts'
import {
  type PackagesReport,
  toPackageRow,
  toPackagesFigures,
  toPackagesTable,
} from '../../benchmark/packages/report.ts'

const READY = { bootMs: 100, settled: true }

function times(name: string, warm: number, unasked: number): PackageTimes {
  return {
    name,
    plain: [[100, 300], [200, 600], [100, 300]],
    warm: [[100 * warm, 300 * warm], [200 * warm, 600 * warm], [4000, 4000]],
    unasked: [[100 * unasked, 300 * unasked], [200 * unasked, 600 * unasked], [4000, 4000]],
    empty: { plain: [20, 40, 20], machine: [30, 60, 50] },
    ready: { warm: READY, unasked: READY },
  }
}

const ROWS = [times('react', 1.1, 1.2), times('a<b', 1.2, 3), times('slow', 1.6, 9)].map(toPackageRow)
const REPORT: PackagesReport = {
  machine: { cpu: 'a CPU', cores: 2, memoryGiB: 4, system: 'linux', deno: '2', v8: '15' },
  date: '2026-01-02T03:04:05Z',
  rounds: 3,
  suite: 4,
  load: [1.2, 9.9],
  empty: { plain: 20, machine: 50 },
  packages: ROWS,
  figures: toPackagesFigures(ROWS),
  skipped: [{ name: 'none', reason: 'it failed' }],
}

Deno.test('a package takes for each input the least of its rounds, plain and in a machine', () => {
  const [{ plainUs, warmUs, warmRatio, codeRatio, unaskedRatio, inputs }] = ROWS
  assertEquals([plainUs, warmUs, inputs], [400, 440, 2])
  assertEquals([warmRatio.toFixed(3), unaskedRatio.toFixed(3)], ['1.100', '1.200'])
  // Two inputs of 10 us each come off the 440.
  assertEquals(codeRatio.toFixed(3), '1.050')
})

Deno.test('the figures are the median of all, what nine in ten reach, and React', () => {
  assertEquals(REPORT.figures.map(({ seen, atMost }) => [seen.toFixed(2), atMost]), [
    ['1.20', 1.15],
    ['1.60', 1.5],
    ['1.15', 1.15],
    ['1.55', 1.5],
    ['3.00', 2],
    ['1.10', 1.15],
  ])
})

Deno.test('the table counts what is above each bound and tells what was missed', () => {
  const table = toPackagesTable(REPORT)
  assertStringIncludes(table, 'Of 3: 2 above 1.15, 1 above 1.5, 0 above 2; own code: 1 above 1.15')
  assertStringIncludes(table, '| median, default warm-up | 3.00 | at most 2.00 | missed |')
  assertStringIncludes(table, '| React, a page of 50 components | 1.10 | at most 1.15 | reached |')
  assertStringIncludes(table, 'Not measured: none: it failed')
})

Deno.test('the chart shows every package and escapes its name', () => {
  const svg = drawPackages(REPORT)
  assertEquals(svg.match(/<rect class="mayfly"/g)?.length, 3)
  assert(svg.includes('a&lt;b') && !svg.includes('a<b'))
  assert(svg.indexOf('>react<') < svg.indexOf('>slow<'))
})
