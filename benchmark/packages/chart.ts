/** The ratios of the packages as bars: an SVG that reads in light and dark. */
import { escape } from '@std/html'
import { describePackages, micros, type PackagesReport } from './report.ts'

const WIDTH = 860
const LABEL = 200
const BAR = 14
const TOP = 84
/** Ratio at the right edge of the bars; longer ones are cut off, and their label says how long they are. */
const MOST = 4

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { fill: #59636e }
  .page { fill: #ffffff }
  .asked { fill: #1a7f64 }
  .unasked { fill: #8c959f }
  line { stroke: #d1730f; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .page { fill: #0d1117 }
    .asked { fill: #3fb68b }
    .unasked { fill: #6e7681 }
  }`

/** Machine's time to the plain handler's, a bar for each package, the smallest ratio first. */
export function drawPackages(report: PackagesReport): string {
  const rows = report.packages.toSorted((a, b) => a.warmRatio - b.warmRatio)
  const scale = (WIDTH - LABEL - 150) / MOST
  const width = (ratio: number) => (Math.min(ratio, MOST) * scale).toFixed(1)
  const bars = rows.map((row, index) => {
    const y = TOP + index * (BAR + 4)
    const end = LABEL + Math.min(Math.max(row.warmRatio, row.unaskedRatio), MOST) * scale
    return `<text x="${LABEL - 10}" y="${y + 11}" text-anchor="end">${escape(row.name)}</text>
<rect class="unasked" x="${LABEL}" y="${y + 9}" width="${width(row.unaskedRatio)}" height="4"/>
<rect class="asked" x="${LABEL}" y="${y}" width="${width(row.warmRatio)}" height="8"/>
<text class="small" x="${(end + 8).toFixed(1)}" y="${y + 11}">${row.warmRatio.toFixed(2)}, ${
      row.unaskedRatio.toFixed(2)
    }; plain ${micros(row.plainUs)}</text>`
  })
  const height = TOP + rows.length * (BAR + 4) + 20
  const marks = [1, 1.5, 2].map((ratio) =>
    `<line x1="${LABEL + ratio * scale}" x2="${LABEL + ratio * scale}" y1="${TOP - 6}" y2="${height - 16}"/>
<text class="small" x="${LABEL + ratio * scale}" y="${TOP - 10}" text-anchor="middle">${ratio}</text>`
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">Machine's time to the plain handler's time, by npm package, less is better</title>
<style>${STYLE}
</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
<text class="title" x="20" y="30">Machine's time to the plain handler's, less is better</text>
<text class="small" x="20" y="48">${escape(describePackages(report))}</text>
<text class="small" x="20" y="64">wide bar: warmed up with requests of its own; narrow bar: default warm-up</text>
${marks.join('\n')}
${bars.join('\n')}
</svg>
`
}
