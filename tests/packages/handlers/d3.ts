import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/d3-array"
import { extent, max, rollup, sum, ticks } from 'd3-array'
// @ts-types="@types/d3-format"
import { format } from 'd3-format'
// @ts-types="@types/d3-hierarchy"
import { hierarchy, treemap } from 'd3-hierarchy'
// @ts-types="@types/d3-scale"
import { scaleLinear, scaleOrdinal, scaleTime } from 'd3-scale'
// @ts-types="@types/d3-shape"
import { area, curveMonotoneX, line, pie } from 'd3-shape'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?points=50' },
  { path: '?points=5&title=Gr%C3%B6%C3%9Fe' },
]

type Point = readonly [number, number]

export function GET(ctx: Context) {
  const points: Point[] = Array.from(
    { length: Number(ctx.get.query('points')) },
    (_, x) => [x, (x * 37) % 23],
  )
  const x = scaleLinear(extent(points, ([x]) => x) as [number, number], [0, 600])
  const y = scaleLinear([0, max(points, ([, y]) => y)!], [300, 0]).nice()
  const path = line<Point>((p) => x(p[0]), (p) => y(p[1])).curve(curveMonotoneX)
  const below = area<Point>((p) => x(p[0]), 300, (p) => y(p[1]))
  const cities = rollup(PEOPLE, (people) => sum(people, ({ age }) => age), ({ address }) => address.city)
  const colour = scaleOrdinal(['red', 'green', 'blue'])
  const slices = pie<[string, number]>().value(([, age]) => age)([...cities])
  const root = hierarchy<{ name: string; size?: number; children?: { name: string; size: number }[] }>({
    name: 'all',
    children: [...cities].map(([name, size]) => ({ name, size })),
  }).sum(({ size = 0 }) => size)
  const boxes = treemap<typeof root.data>().size([100, 100])(root).leaves()
  const days = scaleTime([new Date('2026-01-01T00:00:00Z'), new Date('2026-03-01T00:00:00Z')], [0, 600])
  const svg = `<svg viewBox="0 0 600 300"><title>${ctx.get.query('title') ?? ''}</title><path d="${
    below(points)
  }"/><path d="${path(points)}"/>
${
    slices.map(({ data, startAngle }) => `<g fill="${colour(data[0])}" data-a="${startAngle.toFixed(3)}"/>`)
      .join('')
  }
${boxes.map(({ x0, y0 }) => `<rect x="${x0.toFixed(2)}" y="${y0.toFixed(2)}"/>`).join('')}
${ticks(0, 23, 5).map((tick) => `<text>${format('.2s')(tick * 1000)}</text>`).join('')}<text>${
    days(new Date('2026-02-01T00:00:00Z')).toFixed(1)
  }</text></svg>`
  return ctx.send.custom(svg, { headers: { 'content-type': 'image/svg+xml' } })
}
