import { escape } from '@std/html'
import type { ServerName } from './plan.ts'
import { count, formatMachine, type Report } from './report.ts'
import { linearTicks } from './ticks.ts'

const WIDTH = 860
const LABEL = 200
const BAR = 18
const GAP = 16
const TOP = 64
/** Of the axis; the number of a long bar stands behind it. */
const SPAN = WIDTH - LABEL - 190

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 12px; fill: #59636e }
  .page { fill: #ffffff }
  .axis { stroke: #d1d9e0 }
  .bare { fill: #8c959f }
  .hono { fill: #d1730f }
  .mayfly { fill: #1a7f64 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .page { fill: #0d1117 }
    .axis { stroke: #3d444d }
    .bare { fill: #6e7681 }
    .hono { fill: #e8943a }
    .mayfly { fill: #3fb68b }
  }`

/** The report's medians as bars: an SVG that reads in light and dark. */
export function drawChart(report: Report): string {
  const routes = [...new Set(report.rows.map(({ route }) => route))]
  const ticks = linearTicks(Math.max(...report.rows.map(({ requestsPerSecond }) => requestsPerSecond)))
  const most = ticks[ticks.length - 1]
  const parts: string[] = []
  let y = TOP
  for (const route of routes) {
    const rows = report.rows.filter((row) => row.route === route)
    const middle = y + (rows.length * BAR) / 2 + 4
    parts.push(`<text x="${LABEL - 12}" y="${middle}" text-anchor="end">${escape(route)}</text>`)
    for (const { server, requestsPerSecond } of rows) {
      const width = Math.max(1, (requestsPerSecond / most) * SPAN)
      parts.push(
        `<rect class="${classOf(server)}" x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="${
          BAR - 3
        }" rx="2"/>`,
        `<text class="small" x="${(LABEL + width + 8).toFixed(1)}" y="${y + 12}">${
          count(requestsPerSecond)
        } ${server}</text>`,
      )
      y += BAR
    }
    y += GAP
  }
  const bottom = y - GAP
  const axis = ticks.map((value) => {
    const x = (LABEL + (value / most) * SPAN).toFixed(1)
    return `<line class="axis" x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${
      bottom + 4
    }"/><text class="small" x="${x}" y="${bottom + 18}" text-anchor="middle">${count(value)}</text>`
  })
  const height = y + 40
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">Requests a second by route and server, more is better</title>
<style>${STYLE}
</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
<text class="title" x="20" y="30">Requests a second, more is better</text>
<text class="small" x="20" y="48">${escape(formatMachine(report.machine))}</text>
${axis.join('\n')}
${parts.join('\n')}
<text class="small" x="20" y="${height - 14}">${
    escape(
      `${report.command}, ${
        report.date.slice(0, 10)
      }: autocannon -c 500 -p 10 -d ${report.duration}, medians of ${report.rounds}`,
    )
  }</text>
</svg>
`
}

function classOf(server: ServerName): string {
  return server.startsWith('mayfly') ? 'mayfly' : server
}
