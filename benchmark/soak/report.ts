import type { Machine } from '../machine.ts'
import type { HostResources, Trend } from './host_resources.ts'

/** All that a soak found. Times are in seconds unless their names say otherwise. */
export interface SoakReport {
  readonly date: string
  readonly commit: string
  readonly machine: Machine
  readonly requests: number
  readonly hostile: number
  readonly connections: number
  readonly seconds: number
  readonly requestsPerSecond: number
  readonly wrong: number
  /** Requests without an answer. */
  readonly lost: number
  /** The first faults, in words. */
  readonly faults: readonly string[]
  readonly trends: readonly Trend[]
  readonly kinds: readonly KindReport[]
  /** What the server held, at even distances. */
  readonly samples: readonly HostResources[]
}

/** One kind of request: how many, and their milliseconds at the client. */
export interface KindReport {
  readonly name: string
  readonly status: number
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** Whether the soak is passed. */
export function isGood({ wrong, lost, trends }: SoakReport): boolean {
  return wrong === 0 && lost === 0 && trends.every(({ constant }) => constant)
}

/** The report as Markdown. */
export function toMarkdown(report: SoakReport): string {
  const { machine, requests, hostile, connections, seconds, requestsPerSecond, wrong, lost } = report
  const number = (value: number) => value.toLocaleString('en').replaceAll(',', ' ')
  const share = (100 * hostile / requests).toFixed(1)
  return `# Soak: ${isGood(report) ? 'passed' : 'FAILED'}

${
    number(requests)
  } isolated requests over HTTP with ${connections} kept connections, ${share} % of them hostile,
in ${(seconds / 60).toFixed(1)} minutes (${
    number(Math.round(requestsPerSecond))
  } a second). **${wrong} wrong, ${lost} lost.**

${machine.cpu}, ${machine.cores} cores, ${machine.system}, Deno ${machine.deno}; commit ${report.commit}, ${report.date}.

What the server held (${report.samples.length} samples; a column is constant when the mean of the last fifth
is that of the second fifth, but for what garbage collection moves):

${
    table(
      ['', 'first', 'last', 'most', 'second fifth', 'last fifth', 'constant'],
      report.trends.map(({ name, first, last, most, early, late, constant }) => [
        NAMES[name],
        ...[first, last, most, early, late].map((value) =>
          number(Math.round(name === 'rss' ? value / 1024 : value))
        ),
        constant ? 'yes' : 'NO',
      ]),
    )
  }
Milliseconds at the client, with all the others under way:

${
    table(
      ['request', 'answer', 'count', 'p50', 'p99', 'most'],
      report.kinds.map(({ name, status, count, p50, p99, most }) => [
        name,
        String(status),
        number(count),
        ...[p50, p99, most].map((ms) => ms.toFixed(2)),
      ]),
    )
  }${report.faults.map((fault) => `- ${fault}\n`).join('')}`
}

const NAMES = {
  rss: 'resident memory, MiB',
  fds: 'descriptors',
  maps: 'mappings',
  threads: 'threads',
} as const

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return line(head) + line(head.map((_, index) => index === 0 ? '---' : '---:')) + rows.map(line).join('')
}
