/** Requests a second of each way as bars: an SVG that reads in light and dark. */
import { escape } from '@std/html'
import { count, formatMachine } from '../report.ts'
import { CONNECTIONS, findWay, type Host } from './plan.ts'
import { describeSandbox, formatTime } from './report.ts'
import type { SandboxReport } from './results.ts'

const WIDTH = 860
const LABEL = 200
const BAR = 18
const STEP = 26
const TOP = 100

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 12px; fill: #59636e }
  .page { fill: #ffffff }
  .mayfly { fill: #1a7f64 }
  .workerd { fill: #d1730f }
  .deno { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .page { fill: #0d1117 }
    .mayfly { fill: #3fb68b }
    .workerd { fill: #e8943a }
    .deno { fill: #6e7681 }
  }`

/** A bar for each way over HTTP, with as many connections as there were at most; beside it the p50 of one connection. */
export function drawSandbox(report: SandboxReport): string {
  const { rows, machine, date } = report
  const most = CONNECTIONS[CONNECTIONS.length - 1]
  const overHttp = rows.filter(({ through }) => through === 'http')
  const shown = overHttp.filter(({ connections }) => connections === most)
  const scale = (WIDTH - LABEL - 220) /
    Math.max(1, ...shown.map(({ requestsPerSecond }) => requestsPerSecond))
  const bars = shown.map(({ way, name, requestsPerSecond }, index) => {
    const y = TOP + index * STEP
    const width = Math.max(1, requestsPerSecond * scale)
    const alone = overHttp.find((row) => row.way === way && row.connections === CONNECTIONS[0])
    const label = `${count(requestsPerSecond)}${alone === undefined ? '' : `, p50 ${formatTime(alone.p50)}`}`
    const host: Host = findWay(way).host
    return `<text x="${LABEL - 12}" y="${y + 13}" text-anchor="end">${escape(name)}</text>
<rect class="${host}" x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>
<text class="small" x="${(LABEL + width + 8).toFixed(1)}" y="${y + 13}">${escape(label)}</text>`
  })
  const height = TOP + shown.length * STEP + 16
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">Requests a second by the way code runs that arrives at runtime, more is better</title>
<style>${STYLE}
</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
<text class="title" x="20" y="30">Code that arrives at runtime: requests a second, more is better</text>
<text class="small" x="20" y="48">${escape(`${formatMachine(machine)}; ${date.slice(0, 10)}`)}</text>
<text class="small" x="20" y="64">${escape(`over HTTP with ${most} connections; p50 with one`)}</text>
<text class="small" x="20" y="80">${escape(describeSandbox(report))}</text>
${bars.join('\n')}
</svg>
`
}
