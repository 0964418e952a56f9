import type { Machine } from './machine.ts'
import { markdownTable } from './markdown.ts'
import type { Figure, Row, Run } from './statistics.ts'

/** Everything that one `deno task bench` found; what lies in results/ as JSON. */
export interface Report {
  readonly machine: Machine
  readonly date: string
  readonly command: string
  /** Seconds. */
  readonly duration: number
  readonly rounds: number
  readonly skipped: readonly { readonly route: string; readonly server: string; readonly reason: string }[]
  readonly rows: readonly Row[]
  readonly figures: readonly Figure[]
  readonly runs: readonly Run[]
}

/** The report as text: the machine, the table and the figures. */
export function formatReport(report: Report): string {
  return [
    formatMachine(report.machine),
    describeLoad(report),
    '',
    align(rowTable(report), [2, 3, 4, 5]),
    '',
    align(figureTable(report), [1, 2]),
    ...describeSkipped(report).map((line) => `\n${line}`),
  ].join('\n')
}

/** The report as the page `results/bench.md`. */
export function toMarkdown(report: Report): string {
  const { machine, date, command } = report
  return [
    '# Routes, measured',
    '',
    `${formatMachine(machine)}; ${date.slice(0, 10)}; \`${command}\`: ${describeLoad(report)}.`,
    '',
    ...markdownTable(rowTable(report), (column) => !['route', 'server'].includes(column)),
    '',
    ...markdownTable(figureTable(report), (column) => ['ratio', 'at least'].includes(column)),
    '',
    ...describeSkipped(report).map((line) => `- ${line}`),
    '![Requests a second](bench.svg)',
    '',
  ].join('\n')
}

/** The table of the README: what a bare server, Mayfly and Hono answer on the routes that say most. */
export function toSummary({ rows }: Report): string {
  const rate = (route: string, server: string) => {
    const row = rows.find((row) => row.route === route && row.server === server)
    return row === undefined ? '' : count(row.requestsPerSecond)
  }
  return markdownTable([
    ['route', 'bare `Deno.serve`', 'Mayfly', 'Hono', 'Mayfly to bare'],
    ...Object.entries(SUMMARY).map(([route, label]) => [
      label,
      ...['bare', 'mayfly', 'hono'].map((server) => rate(route, server)),
      rows.find((row) => row.route === route && row.server === 'mayfly')?.toBare?.toFixed(2) ?? '',
    ]),
  ], (column) => column !== 'route').join('\n')
}

const SUMMARY: Readonly<Record<string, string>> = {
  '/test': 'a JSON object',
  '/test-view': 'a template with one variable',
  '/test-view-include': 'a template with a partial',
  '/test-view-each-meta': 'a template with a loop of 50',
}

function describeLoad({ duration, rounds }: Report): string {
  return `autocannon, 500 connections, 10 requests in each, ${duration} s a run, medians of ${rounds}`
}

function describeSkipped({ skipped }: Report): string[] {
  return skipped.map(({ route, server, reason }) => `not timed: ${route} on ${server}: ${reason}`)
}

function rowTable({ rows }: Report): string[][] {
  return [
    ['route', 'server', 'req/s', 'p50 ms', 'p99 ms', 'to bare', 'runs'],
    ...rows.map((row) => [
      row.route,
      row.server,
      count(row.requestsPerSecond) + (row.failures > 0 ? ` (${row.failures} failed)` : ''),
      String(row.p50),
      String(row.p99),
      row.toBare === undefined ? '' : row.toBare.toFixed(3),
      row.runs.map(count).join(' '),
    ]),
  ]
}

function figureTable({ figures }: Report): string[][] {
  return [
    ['figure', 'ratio', 'at least', '', 'per round'],
    ...figures.map(({ name, value, atLeast, reached, ratios }) => [
      name,
      value === undefined ? '' : value.toFixed(3),
      atLeast.toFixed(2),
      reached === undefined ? 'not measured' : reached ? 'reached' : 'MISSED',
      ratios.map((ratio) => ratio.toFixed(3)).join(' '),
    ]),
  ]
}

/** One line that names the machine. */
export function formatMachine({ cpu, cores, memoryGiB, system, deno, v8 }: Machine): string {
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Deno ${deno} (V8 ${v8})`
}

/** A whole number with commas between the thousands. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function align(rows: readonly (readonly string[])[], right: readonly number[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows.map((row) =>
    row.map((cell, column) =>
      right.includes(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])
    ).join('  ')
      .trimEnd()
  ).join('\n')
}
