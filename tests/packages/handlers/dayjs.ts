import type { Context } from '@mayfly/mayfly'
import dayjs from 'dayjs'
import de from 'dayjs/locale/de.js'
import relativeTime from 'dayjs/plugin/relativeTime.js'
import utc from 'dayjs/plugin/utc.js'

export const inputs = [
  { path: '?from=2026-01-31T10:00:00Z&add=1' },
  { path: '?from=2024-02-29T00:00:00Z&add=12&locale=de' },
]

dayjs.extend(utc)
dayjs.extend(relativeTime)
dayjs.locale(de, undefined, true)

export function GET(ctx: Context) {
  const from = dayjs.utc(ctx.get.query('from')).locale(
    ctx.get.query('locale') ?? 'en',
  )
  const months = Array.from(
    { length: 24 },
    (_, index) => from.add(index * Number(ctx.get.query('add')), 'month'),
  )
  return ctx.send.json(months.map((date) => ({
    iso: date.toISOString(),
    text: date.format('dddd, D. MMMM YYYY'),
    away: from.to(date),
    week: date.endOf('week').diff(date, 'day'),
  })))
}
