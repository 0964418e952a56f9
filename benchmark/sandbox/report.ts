/** The results as text for a terminal and as a page of Markdown. */
import { markdownTable, type Table } from '../markdown.ts'
import { count, formatMachine } from '../report.ts'
import type { SandboxFigure, SandboxReport, SandboxRow } from './results.ts'

/** For a terminal; Markdown reads well there too. */
export function formatSandbox(report: SandboxReport): string {
  return [formatMachine(report.machine), describeSandbox(report), '', ...tables(report)].join('\n')
}

/** All of it, as the page `results/sandbox.md`. */
export function toSandboxPage(report: SandboxReport): string {
  const { machine, date, command } = report
  return [
    '# Code that arrives at runtime, measured',
    '',
    `${formatMachine(machine)}; ${date.slice(0, 10)}; \`${command}\`: ${describeSandbox(report)}.`,
    '',
    ...tables(report),
    '',
    '![Requests a second by the way code runs](sandbox.svg)',
    '',
  ].join('\n')
}

/** How it was measured, a line. */
export function describeSandbox({ seconds, rounds, peers, loadAverage }: SandboxReport): string {
  return `runs of ${seconds} s, medians of ${rounds} round${
    rounds === 1 ? '' : 's'
  }, load generator on the same machine, load average ${loadAverage.toFixed(1)}; ${
    peers.length === 0 ? 'no peers' : peers.join('; ')
  }`
}

/** Microseconds as they are read best. */
export function formatTime(micros: number): string {
  return micros >= 10_000 ? `${(micros / 1000).toFixed(1)} ms` : `${(micros / 1000).toFixed(2)} ms`
}

function tables({ rows, figures, skipped }: SandboxReport): string[] {
  return [
    ...markdownTable(rowTable(rows), (column) => column !== 'code runs by' && column !== 'asked by'),
    '',
    ...markdownTable(figureTable(figures), (column) => column === 'seen' || column === 'wanted'),
    ...skipped.flatMap((line) => ['', `Not measured: ${line}`]),
  ]
}

function rowTable(rows: readonly SandboxRow[]): Table {
  return [
    [
      'code runs by',
      'asked by',
      'at once',
      'req/s',
      'p50',
      'p99',
      'memory',
      'after',
      'p50 to load()',
      'req/s to load()',
    ],
    ...rows.map((row) => [
      row.name,
      row.through === 'http' ? 'HTTP' : 'a call',
      String(row.connections),
      count(row.requestsPerSecond) + (row.failures > 0 ? ` (${count(row.failures)} failed)` : ''),
      formatTime(row.p50),
      formatTime(row.p99),
      `${count(row.residentBytes / 2 ** 20)} MiB`,
      count(row.requests),
      formatRatio(row.p50ToLoad),
      formatRatio(row.rateToLoad),
    ]),
  ]
}

function figureTable(figures: readonly SandboxFigure[]): Table {
  return [
    ['must hold', 'seen', 'wanted', ''],
    ...figures.map(({ name, seen, bound, wanted, reached }) => [
      name,
      formatRatio(seen),
      `${bound} ${formatRatio(wanted)}`,
      reached === undefined ? 'not measured' : reached ? 'reached' : 'missed',
    ]),
  ]
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? '' : ratio.toFixed(ratio < 1 ? 3 : ratio < 10 ? 2 : 1)
}
