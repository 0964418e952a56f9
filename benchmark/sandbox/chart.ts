/** Requests a second of each way as bars. */
import { count, formatMachine } from '../report.ts'
import { drawBar, drawLabels, LABEL, toSvg, WIDTH } from '../svg.ts'
import { CONNECTIONS, findWay, type Host } from './plan.ts'
import { describeSandbox, formatTime } from './report.ts'
import type { SandboxReport } from './results.ts'

const BAR = 18
const STEP = 26
const TOP = 100
const KINDS = { mayfly: 'mayfly', workerd: 'peer', node: 'peer', deno: 'plain' } as const satisfies Record<
  Host,
  string
>

/** A bar for each way over HTTP, with as many connections as there were at most; beside it the p50 of one connection. */
export function drawSandbox(report: SandboxReport): string {
  const { rows, machine, date } = report
  const most = CONNECTIONS[CONNECTIONS.length - 1]
  const overHttp = rows.filter(({ through }) => through === 'http')
  const shown = overHttp.filter(({ connections }) => connections === most)
  const scale = (WIDTH - LABEL - 220) /
    Math.max(1, ...shown.map(({ requestsPerSecond }) => requestsPerSecond))
  const bars = shown.flatMap(({ way, name, requestsPerSecond }, index) => {
    const y = TOP + index * STEP
    const width = Math.max(1, requestsPerSecond * scale)
    const alone = overHttp.find((row) => row.way === way && row.connections === CONNECTIONS[0])
    const text = `${count(requestsPerSecond)}${alone === undefined ? '' : `, p50 ${formatTime(alone.p50)}`}`
    return [drawBar(KINDS[findWay(way).host], y, width, BAR), drawLabels(name, text, LABEL + width, y + 13)]
  })
  return toSvg({
    title: 'Requests a second by the way code runs that arrives at runtime, more is better',
    heading: 'Code that arrives at runtime: requests a second, more is better',
    notes: [
      `${formatMachine(machine)}; ${date.slice(0, 10)}`,
      `over HTTP with ${most} connections; p50 with one`,
      describeSandbox(report),
    ],
    parts: bars,
    height: TOP + shown.length * STEP + 16,
  })
}
