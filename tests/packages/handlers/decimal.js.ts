import type { Context } from '@mayfly/mayfly'
import { Decimal } from 'decimal.js'

export const inputs = [
  { path: '?principal=1000.10&rate=0.035&years=30' },
  { path: '?principal=1e9&rate=0.0001&years=5' },
]

export function GET(ctx: Context) {
  const { principal, rate, years } = ctx.get.query()
  const factor = new Decimal(rate).plus(1)
  const rows = Array.from(
    { length: Number(years) },
    (_, year) => factor.pow(year + 1).times(principal),
  )
  return ctx.send.json({
    rows: rows.map((row) => row.toFixed(2)),
    root: new Decimal(principal).sqrt().toString(),
    log: factor.ln().toSignificantDigits(15).toString(),
  })
}
