/** The results as text for a terminal and as Markdown for a README. */
import { count, formatMachine } from '../report.ts'
import { type Figure, toMustHold } from './figures.ts'
import type { IsolatedReport, WayResult } from './results.ts'

/** A table: its head, then its rows. Columns whose head ends with a unit or a count are set to the right. */
type Table = readonly (readonly string[])[]

const BEGIN = '<!-- begin: deno task bench --isolated -->'
const END = '<!-- end: deno task bench --isolated -->'

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

/** For a README, between two markers. */
export function toMarkdown(report: IsolatedReport): string {
  return [
    BEGIN,
    '',
    `${formatMachine(report.machine)}; ${report.date.slice(0, 10)}. ${describeRun(report)}.`,
    '',
    ...markdownTable(wayTable(report)),
    '',
    ...markdownTable(figureTable(report)),
    '',
    ...[...toMustHold(report).map(({ name, from }) => `${name}: ${from}`), ...warnings(report)].map((line) =>
      `- ${line}`
    ),
    '',
    END,
  ].join('\n')
}

/** `text` with what is between the markers replaced; undefined when it has no markers. */
export function replaceMarked(text: string, markdown: string): string | undefined {
  const begin = text.indexOf(BEGIN)
  const end = text.indexOf(END)
  if (begin === -1 || end < begin) return undefined
  return text.slice(0, begin) + markdown + text.slice(end + END.length)
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
  const floor = vm === undefined
    ? 'floor not measured'
    : `floor ${vm.floorUs.toFixed(1)} µs (round trip ${vm.roundTrip.p50.toFixed(1)}, copy ${
      vm.copy.p50.toFixed(1)
    })`
  return `runs of ${seconds} s, medians of ${rounds} rounds, load generator on the same machine; ${floor}`
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

/** As `deno fmt` writes it. */
function markdownTable([head, ...rows]: Table): string[] {
  const table = [head, ...rows]
  const widths = head.map((_, column) => Math.max(3, ...table.map((row) => row[column].length)))
  const line = (cells: readonly string[]) =>
    `| ${
      cells.map((cell, column) =>
        isRight(head[column]) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])
      ).join(' | ')
    } |`
  const rule = `| ${
    widths.map((width, column) => isRight(head[column]) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))
      .join(' | ')
  } |`
  return [line(head), rule, ...rows.map(line)]
}
