import type { Context } from '@mayfly/mayfly'
import * as ss from 'simple-statistics'

export const inputs = [
  { json: Array.from({ length: 300 }, (_, index) => (index * 7919) % 1009) },
  { json: [1, 2, 3] },
]

export async function POST(ctx: Context) {
  const values = await ctx.get.json<number[]>()
  const fit = ss.linearRegression(values.map((value, index) => [index, value]))
  const text = (value: number) => value.toPrecision(10)
  return ctx.send.json({
    mean: text(ss.mean(values)),
    median: ss.median(values),
    quantiles: [0.1, 0.5, 0.99].map((share) => ss.quantile(values, share)),
    deviation: text(ss.standardDeviation(values)),
    slope: text(fit.m),
    clusters: ss.ckmeans(values, Math.min(3, values.length)).map((cluster) => cluster.length),
    skew: text(ss.sampleSkewness(values)),
  })
}
