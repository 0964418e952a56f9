/** The results as text for a terminal, as a page of Markdown, and as the short table of the README. */
import { markdownTable, type Table } from '../markdown.ts'
import { count, formatMachine } from '../report.ts'
import { type Figure, toMustHold } from './figures.ts'
import type { IsolatedReport, WayResult } from './results.ts'

/** For a terminal. */
export function formatIsolated(report: IsolatedReport): string {
  return [
    formatMachine(report.machine),
    describeRun(report),
    '',
    alignTable(wayTable(report)),
    '',
    alignTable(figureTable(report)),
    '',
    ...toMustHold(report).map(({ name, from }) => `${name}: ${from}`),
    ...warnings(report),
  ].join('\n')
}

/** All of it, as the page `results/isolated.md`. */
export function toMarkdown(report: IsolatedReport): string {
  return [
    '# Isolated handlers, measured',
    '',
    `${formatMachine(report.machine)}; ${report.date.slice(0, 10)}; \`${report.command}\`: ${
      describeRun(report)
    }.`,
    '',
    ...markdownTable(wayTable(report), isRight),
    '',
    ...markdownTable(figureTable(report), isRight),
    '',
    ...[...toMustHold(report).map(({ name, from }) => `${name}: ${from}`), ...warnings(report)].map((line) =>
      `- ${line}`
    ),
    '',
  ].join('\n')
}

/** The rows of the README, by their name in the report. */
const SUMMARY: Readonly<Record<string, string>> = {
  'plain handler': 'plain, in the server itself',
  'isolated': 'isolated, stock Deno',
  'core': 'isolated, runtime `core`',
  'fresh Deno Worker': 'a fresh `Worker` for each request',
  'fresh deno process': 'a fresh `deno` process for each request',
}

/** The short table of the README: each way alone, and at its largest number of connections. */
export function toSummary(report: IsolatedReport): string {
  const rows = Object.entries(SUMMARY).flatMap(([name, label]) => {
    const ways = report.ways.filter((way) => way.name === name)
      .toSorted((a, b) => a.connections - b.connections)
    if (ways.length === 0) return []
    const [alone, busy] = [ways[0], ways[ways.length - 1]]
    return [[label, formatMicros(alone.p50), count(busy.requestsPerSecond), String(busy.connections)]]
  })
  const table = [['how a handler runs', 'p50, one connection', 'requests a second', 'connections'], ...rows]
  return markdownTable(table, (column) => column !== table[0][0]).join('\n')
}

/** What makes the figures of a run doubtful. */
function warnings({ runs, failures }: IsolatedReport): string[] {
  const rounds = new Set(
    runs.filter(({ samples }) => samples && samples.unsettled > 0).map(({ round }) => round),
  )
  const cold = rounds.size === 0
    ? []
    : [`doubtful: in ${rounds.size} of the rounds a program was not warm when its time for that was over`]
  return [...cold, ...failures.map((failure) => `not measured: ${failure}`)]
}

function describeRun({ seconds, rounds, vm }: IsolatedReport): string {
  const baseline = vm === undefined
    ? 'baseline not measured'
    : `baseline ${vm.baselineUs.toFixed(1)} µs (round trip ${vm.roundTrip.p50.toFixed(1)}, copy ${
      vm.copy.p50.toFixed(1)
    })`
  return `runs of ${seconds} s, medians of ${rounds} rounds, load generator on the same machine; ${baseline}`
}

function wayTable({ ways }: IsolatedReport): Table {
  return [
    ['handler', 'connections', 'req/s', 'p50', 'p99', 'VM run', 'VM reset', 'pages'],
    ...ways.map((way) => [
      way.name,
      String(way.connections),
      count(way.requestsPerSecond) + (way.failures > 0 ? ` (${count(way.failures)} failed)` : ''),
      formatMicros(way.p50),
      formatMicros(way.p99),
      ...vmCells(way),
    ]),
  ]
}

function vmCells({ run, reset, dirtyPages }: WayResult): string[] {
  if (run === undefined || reset === undefined) return ['', '', '']
  return [formatMicros(run.p50), formatMicros(reset.p50), String(dirtyPages ?? '')]
}

function figureTable(report: IsolatedReport): Table {
  return [
    ['must hold', 'seen', 'wanted', ''],
    ...toMustHold(report).map((figure) => [
      figure.name,
      formatValue(figure.value, figure.unit),
      `${figure.bound} ${formatValue(figure.wanted, figure.unit)}`,
      formatVerdict(figure),
    ]),
  ]
}

function formatVerdict({ reached }: Figure): string {
  return reached === undefined ? 'not measured' : reached ? 'reached' : 'not reached'
}

function formatValue(value: number | undefined, unit: string): string {
  if (value === undefined) return '?'
  if (value === Infinity) return 'never'
  const text = value >= 1000
    ? count(value)
    : unit === 'requests' || unit === 'faults'
    ? String(value)
    : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)
  return `${text} ${unit}`
}

/** Microseconds as they are read best. */
function formatMicros(value: number): string {
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} ms` : `${value.toFixed(value >= 100 ? 0 : 1)} µs`
}

function isRight(column: string): boolean {
  return column !== 'handler' && column !== 'must hold' && column !== ''
}

function alignTable(table: Table): string {
  const [head] = table
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column].length)))
  return table.map((row) =>
    row.map((cell, column) =>
      isRight(head[column]) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])
    ).join('  ').trimEnd()
  ).join('\n')
}
