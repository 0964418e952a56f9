import { escape } from '@std/html'
import type { ServerName } from './plan.ts'
import { count, formatMachine, type Report } from './report.ts'
import { drawBar, LABEL, toSvg, WIDTH } from './svg.ts'
import { linearTicks } from './ticks.ts'

const BAR = 18
const GAP = 16
const TOP = 64
/** Of the axis; the number of a long bar stands behind it. */
const SPAN = WIDTH - LABEL - 190

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
        drawBar(kindOf(server), y, width, BAR - 3),
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
  const { command, date, duration, rounds } = report
  const how = `${command}, ${date.slice(0, 10)}: autocannon -c 500 -p 10 -d ${duration}, medians of ${rounds}`
  return toSvg({
    title: 'Requests a second by route and server, more is better',
    heading: 'Requests a second, more is better',
    notes: [formatMachine(report.machine)],
    parts: [...axis, ...parts, `<text class="small" x="20" y="${height - 14}">${escape(how)}</text>`],
    height,
  })
}

function kindOf(server: ServerName): 'mayfly' | 'peer' | 'plain' {
  if (server.startsWith('mayfly')) return 'mayfly'
  return server === 'hono' ? 'peer' : 'plain'
}
