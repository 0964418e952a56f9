import type { Context } from '@mayfly/mayfly'
import rrule from 'rrule'

export const inputs = [
  { path: '?rule=FREQ%3DMONTHLY%3BBYDAY%3DTU%2CTH%3BCOUNT%3D40' },
  { path: '?rule=FREQ%3DWEEKLY%3BINTERVAL%3D2%3BUNTIL%3D20270101T000000Z' },
  { text: 'every 3 days for 10 times' },
]

const START = 'DTSTART:20260105T090000Z\nRRULE:'

export function GET(ctx: Context) {
  const rule = rrule.rrulestr(START + ctx.get.query('rule')!)
  return ctx.send.json({
    text: rule.toText(),
    dates: rule.all().map((date) => date.toISOString()),
    after: rule.after(new Date('2026-06-01T00:00:00Z'))?.toISOString(),
  })
}

export async function POST(ctx: Context) {
  const options = rrule.RRule.parseText(await ctx.get.text())!
  const rule = new rrule.RRule({ ...options, dtstart: new Date('2026-01-05T09:00:00Z') })
  return ctx.send.json({ rule: rule.toString(), count: rule.all().length })
}
