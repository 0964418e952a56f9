import type { Context } from '@mayfly/mayfly'
import * as turf from '@turf/turf'

export const inputs = [
  { json: [[6.96, 50.94], [2.35, 48.86], [10.75, 59.91], [-46.63, -23.55]] },
  { json: Array.from({ length: 80 }, (_, index) => [(index * 37) % 50, (index * 17) % 40]) },
]

export async function POST(ctx: Context) {
  const points = turf.featureCollection(
    (await ctx.get.json<[number, number][]>()).map((place) => turf.point(place)),
  )
  const hull = turf.convex(points)
  const round = (value: number) => value.toPrecision(9)
  return ctx.send.json({
    centre: turf.centroid(points).geometry.coordinates.map(round),
    area: hull && round(turf.area(hull)),
    box: turf.bbox(points),
    distance: round(turf.distance(points.features[0], points.features[1])),
    circle: turf.circle(points.features[0], 10, { steps: 8 }).geometry.coordinates[0].map(([x]) => round(x)),
    inside: hull && points.features.filter((point) => turf.booleanPointInPolygon(point, hull)).length,
  })
}
