/** The ratios of the packages as bars. */
import { drawBar, drawLabels, LABEL, toSvg, WIDTH } from '../svg.ts'
import { describePackages, micros, type PackagesReport } from './report.ts'

const STEP = 18
const TOP = 84
/** Ratio at the right edge of the bars; longer ones are cut off, and their label says how long they are. */
const MOST = 4

/** Machine's time to the plain handler's, a bar for each package, the smallest ratio first. */
export function drawPackages(report: PackagesReport): string {
  const rows = report.packages.toSorted((a, b) => a.warmRatio - b.warmRatio)
  const scale = (WIDTH - LABEL - 150) / MOST
  const widthOf = (ratio: number) => Math.min(ratio, MOST) * scale
  const bars = rows.flatMap(({ name, warmRatio, unaskedRatio, plainUs }, index) => {
    const y = TOP + index * STEP
    const text = `${warmRatio.toFixed(2)}, ${unaskedRatio.toFixed(2)}; plain ${micros(plainUs)}`
    return [
      drawBar('plain', y + 9, widthOf(unaskedRatio), 4),
      drawBar('mayfly', y, widthOf(warmRatio), 8),
      drawLabels(name, text, LABEL + widthOf(Math.max(warmRatio, unaskedRatio)), y + 11),
    ]
  })
  const height = TOP + rows.length * STEP + 20
  const marks = [1, 1.5, 2].map((ratio) => {
    const x = LABEL + ratio * scale
    return `<line class="mark" x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${height - 16}"/>
<text class="small" x="${x}" y="${TOP - 10}" text-anchor="middle">${ratio}</text>`
  })
  return toSvg({
    title: "Machine's time to the plain handler's time, by npm package, less is better",
    heading: "Machine's time to the plain handler's, less is better",
    notes: [
      describePackages(report),
      'wide bar: warmed up with requests of its own; narrow bar: default warm-up',
    ],
    parts: [...marks, ...bars],
    height,
  })
}
