import type { Context } from '@mayfly/mayfly'
import { DateTime, Duration, Interval } from 'luxon'

export const inputs = [
  { path: '?at=2026-03-29T01:30:00&zone=Europe/Berlin&locale=de' },
  { path: '?at=2026-11-01T01:30:00&zone=America/New_York&locale=en' },
  { path: '?at=nonsense&zone=Asia/Tokyo&locale=ja' },
]

export function GET(ctx: Context) {
  const { at, zone, locale } = ctx.get.query()
  const start = DateTime.fromISO(at, { zone }).setLocale(locale)
  if (!start.isValid) {
    return ctx.send.json({ error: start.invalidExplanation }, { status: 400 })
  }
  const hours = Array.from(
    { length: 12 },
    (_, index) => start.plus({ hours: index * 6 }),
  )
  return ctx.send.json({
    offsets: hours.map((hour) => `${hour.toISO()} ${hour.offsetNameShort}`),
    text: start.toLocaleString(DateTime.DATETIME_FULL),
    month: start.toFormat('LLLL yyyy, EEEE'),
    days: Interval.fromDateTimes(start, start.plus({ months: 1 })).length(
      'days',
    ),
    rest: Duration.fromMillis(98_765_432).toFormat("d'd' hh:mm:ss"),
  })
}
