import type { Context } from '@mayfly/mayfly'
import { HyperFormula } from 'hyperformula'

export const inputs = [
  { json: [[1, 2, '=SUM(A1:B1)', '=IF(C1>2, "more", "less")']] },
  { json: [['=A2*2', '=1/0'], [21, '=MEDIAN(1, 5, 9)']] },
]

/** Its modules import each other by paths with two slashes in a row. */
export async function POST(ctx: Context) {
  const cells = await ctx.get.json<(number | string)[][]>()
  const sheet = HyperFormula.buildFromArray(cells, { licenseKey: 'gpl-v3' })
  const values = sheet.getSheetValues(0)
  sheet.destroy()
  return ctx.send.json(values)
}
