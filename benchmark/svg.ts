/** What all charts have in common: an SVG that reads in light and dark. */
import { escape } from '@std/html'

export const WIDTH = 860
/** Where the bars begin, behind their names. */
export const LABEL = 200

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 12px; fill: #59636e }
  .page { fill: #ffffff }
  .axis { stroke: #d1d9e0 }
  .mark { stroke: #d1730f; stroke-dasharray: 3 3 }
  .plain { fill: #8c959f }
  .peer { fill: #d1730f }
  .mayfly { fill: #1a7f64 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .page { fill: #0d1117 }
    .axis { stroke: #3d444d }
    .plain { fill: #6e7681 }
    .peer { fill: #e8943a }
    .mayfly { fill: #3fb68b }
  }`

/** A chart without its frame. */
export interface Drawing {
  /** What it shows, for those who do not see it. */
  readonly title: string
  readonly heading: string
  /** Lines below the heading, 16 units each from 48 on. */
  readonly notes: readonly string[]
  /** Elements of SVG. */
  readonly parts: readonly string[]
  readonly height: number
}

/** The whole SVG; titles and notes are text, the parts are not. */
export function toSvg({ title, heading, notes, parts, height }: Drawing): string {
  const lines = notes.map((note, index) =>
    `<text class="small" x="20" y="${48 + 16 * index}">${escape(note)}</text>`
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escape(title)}</title>
<style>${STYLE}
</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
<text class="title" x="20" y="30">${escape(heading)}</text>
${[...lines, ...parts].join('\n')}
</svg>
`
}

/** A bar from {@link LABEL} on. */
export function drawBar(
  kind: 'mayfly' | 'peer' | 'plain',
  y: number,
  width: number,
  height: number,
): string {
  return `<rect class="${kind}" x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="${height}" rx="2"/>`
}

/** The name before a bar, and what stands behind the bar's end. */
export function drawLabels(name: string, text: string, end: number, y: number): string {
  return `<text x="${LABEL - 12}" y="${y}" text-anchor="end">${escape(name)}</text>
<text class="small" x="${(end + 8).toFixed(1)}" y="${y}">${escape(text)}</text>`
}
