import type { Context } from '@mayfly/mayfly'
import { BigNumber } from 'bignumber.js'

export const inputs = [
  { path: '?a=123456789012345678901234567890&b=0.000000000000000000000000001' },
  { path: '?a=255&b=16' },
]

export function GET(ctx: Context) {
  const [a, b] = ['a', 'b'].map((name) => new BigNumber(ctx.get.query(name)!))
  let power = new BigNumber(1)
  const powers = Array.from({ length: 40 }, () => (power = power.times(a).dividedBy(7)).toExponential(12))
  return ctx.send.json({
    sum: a.plus(b).toFixed(),
    quotient: a.div(b).toFormat(3),
    hex: a.integerValue().toString(16),
    remainder: a.modulo(b.plus(1)).toFixed(5),
    powers,
  })
}
