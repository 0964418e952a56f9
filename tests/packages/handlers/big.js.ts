import type { Context } from '@mayfly/mayfly'
import Big from 'big.js'

export const inputs = [
  { json: { prices: ['0.1', '0.2', '19.99', '1e3'], tax: '0.19' } },
  { json: { prices: Array.from({ length: 200 }, (_, index) => `${index}.${index}`), tax: '0.077' } },
  { json: { prices: ['zwölf'], tax: '0' } },
]

export async function POST(ctx: Context) {
  const { prices, tax } = await ctx.get.json<{ prices: string[]; tax: string }>()
  try {
    const net = prices.reduce((sum, price) => sum.plus(price), new Big(0))
    const gross = net.times(new Big(1).plus(tax))
    return ctx.send.json({
      net,
      gross: gross.toFixed(2),
      third: gross.div(3).round(10).toString(),
      root: net.sqrt().toPrecision(15),
    })
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
