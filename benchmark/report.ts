import type { Machine } from './machine.ts'
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
export function formatReport({ machine, rows, figures, skipped, duration, rounds }: Report): string {
  const table = [
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
  const verdicts = [
    ['figure', 'ratio', 'at least', '', 'per round'],
    ...figures.map(({ name, value, atLeast, reached, ratios }) => [
      name,
      value === undefined ? '' : value.toFixed(3),
      atLeast.toFixed(2),
      reached === undefined ? 'not measured' : reached ? 'reached' : 'MISSED',
      ratios.map((ratio) => ratio.toFixed(3)).join(' '),
    ]),
  ]
  return [
    formatMachine(machine),
    `autocannon, 500 connections, 10 requests in each, ${duration} s a run, medians of ${rounds}`,
    '',
    align(table, [2, 3, 4, 5]),
    '',
    align(verdicts, [1, 2]),
    ...skipped.map(({ route, server, reason }) => `\nnot timed: ${route} on ${server}: ${reason}`),
  ].join('\n')
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
