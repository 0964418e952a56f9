/** The page of `deno task bench --serve`: what each server did outside and behind `mayfly serve`, and what must hold. */
import type { LoopResult } from '../isolated/closed_loop.ts'
import { type BaselineReport, toBaselineParts } from '../isolated/results.ts'
import type { Machine } from '../machine.ts'
import { markdownTable } from '../markdown.ts'
import { count, formatMachine } from '../report.ts'
import { median } from '../statistics.ts'
import type { PerRequest } from './metrics.ts'
import type { Start } from './starts.ts'

/** The name of the runs of the framework's own isolated route. */
export const FRAMEWORK = 'framework'

/** One timed run. */
export interface ServeRun {
  readonly round: number
  readonly name: string
  /** Behind `mayfly serve`, or in the framework's machines. */
  readonly inside: boolean
  readonly load: LoopResult
  readonly machine?: PerRequest
  /** Before and after. */
  readonly baselines?: readonly BaselineReport[]
}

export interface ServeReport {
  readonly machine: Machine
  readonly date: string
  readonly command: string
  readonly seconds: number
  readonly rounds: number
  readonly connections: number
  readonly programs: readonly { readonly name: string; readonly label: string }[]
  readonly runs: readonly ServeRun[]
  readonly starts: readonly Start[]
}

/** The report as the page `results/serve.md`. */
export function toServeMarkdown(report: ServeReport): string {
  const { machine, date, command, seconds, rounds, connections } = report
  const text = (column: string) => ['server', 'where', 'figure', ''].includes(column)
  return [
    '# `mayfly serve`, measured',
    '',
    `${formatMachine(machine)}; ${
      date.slice(0, 10)
    }; \`${command}\`: ${connections} connections from the same`,
    `machine, ${seconds} s a run, medians of ${rounds}; every answer checked.`,
    '',
    ...markdownTable(loadTable(report), (column) => !text(column)),
    '',
    ...markdownTable(machineTable(report), (column) => !text(column)),
    '',
    ...markdownTable(startTable(report), (column) => !text(column)),
    '',
    ...markdownTable(figureTable(report), (column) => !text(column)),
    '',
  ].join('\n')
}

function loadTable({ programs, runs }: ServeReport): string[][] {
  const rows: string[][] = [['server', 'where', 'requests a second', 'p50 ms', 'p99 ms', 'failed']]
  const all = [...programs, { name: FRAMEWORK, label: 'isolated route of the framework' }]
  for (const { name, label } of all) {
    for (const inside of [false, true]) {
      const own = runs.filter((run) => run.name === name && run.inside === inside).map(({ load }) => load)
      if (own.length === 0) continue
      const of = (figure: keyof LoopResult) => median(own.map((load) => load[figure]))!
      rows.push([
        label,
        inside ? 'in a machine, reset per request' : 'outside',
        count(of('requestsPerSecond')),
        (of('p50') / 1000).toFixed(2),
        (of('p99') / 1000).toFixed(2),
        String(own.reduce((sum, { failures }) => sum + failures, 0)),
      ])
    }
  }
  return rows
}

function machineTable({ programs, runs }: ServeReport): string[][] {
  const rows: string[][] = [['server', 'run µs', 'reset µs', 'exits', 'dirty pages', 'baselines']]
  for (const { name, label } of programs) {
    const own = runs.flatMap(({ name: of, machine }) => of === name && machine !== undefined ? [machine] : [])
    const of = (figure: keyof PerRequest) => median(own.map((run) => run[figure]))?.toFixed(1) ?? ''
    rows.push([label, of('runUs'), of('resetUs'), of('exits'), of('pages'), toText(baselines(runs, name))])
  }
  return rows
}

/** The time in the machine and of its reset, in baselines of the same moment that copy as many pages. */
function baselines(runs: readonly ServeRun[], name: string): number | undefined {
  return median(runs.flatMap((run) => {
    const parts = toBaselineParts(run.baselines ?? [])
    const { machine } = run
    if (run.name !== name || parts === undefined || machine === undefined) return []
    return [(machine.runUs + machine.resetUs) / (parts.roundTripUs + parts.pageUs * machine.pages)]
  }))
}

/** Starts from a snapshot on disk: medians, and the quickest start to its first answer. */
function startTable({ programs, starts }: ServeReport): string[][] {
  const rows: string[][] = [[
    'server',
    'start to first answer ms',
    'quickest',
    'of it opening the file',
    'CPU ms',
    '`--version` ms',
  ]]
  for (const { name, label } of programs) {
    const own = starts.filter((start) => start.name === name)
    if (own.length === 0) continue
    const of = (figure: 'answer' | 'opened' | 'cpu' | 'exec') => own.map((start) => start[figure])
    rows.push([
      label,
      toText(median(of('answer'))),
      toText(Math.min(...of('answer'))),
      toText(median(of('opened'))),
      toText(median(of('cpu'))),
      toText(median(of('exec'))),
    ])
  }
  return rows
}

function figureTable({ runs, starts }: ServeReport): string[][] {
  const node = baselines(runs, 'node')
  const deno = baselines(runs, 'deno')
  const ratio = (figure: keyof LoopResult, of: [string, boolean], to: [string, boolean]) =>
    median(runs.flatMap((run) => {
      const other = runs.find(({ round, name, inside }) =>
        round === run.round && name === to[0] && inside === to[1]
      )
      if (run.name !== of[0] || run.inside !== of[1] || other === undefined) return []
      return [run.load[figure] / other.load[figure]]
    }))
  const start = (name: string) => median(starts.flatMap((start) => start.name === name ? [start.answer] : []))
  return [
    ['figure', 'measured', 'wanted'],
    ['start of the C hello from a snapshot to its first answer, ms', toText(start('native')), 'under 10'],
    ['start of the Deno hello from a snapshot to its first answer, ms', toText(start('deno')), 'under 25'],
    ['Deno hello, baselines', toText(deno), 'at most 2.4'],
    [
      'Node hello to Deno hello, baselines',
      toText(node !== undefined && deno !== undefined ? node / deno : undefined),
      'at most 1.5',
    ],
    [
      'Deno hello to the isolated route of the framework, requests a second',
      toText(ratio('requestsPerSecond', ['deno', true], [FRAMEWORK, true])),
      'at least 1.6',
    ],
    [
      'React page in a machine to outside, p99',
      toText(ratio('p99', ['react', true], ['react', false])),
      'at most 1',
    ],
    [
      'React page in a machine to outside, requests a second',
      toText(ratio('requestsPerSecond', ['react', true], ['react', false])),
      'at least 0.87',
    ],
  ]
}

function toText(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(2)
}
