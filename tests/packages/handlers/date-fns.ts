import type { Context } from '@mayfly/mayfly'
import {
  addBusinessDays,
  differenceInCalendarDays,
  eachWeekOfInterval,
  format,
  formatDistance,
  parseISO,
} from 'date-fns'
import { de, enGB } from 'date-fns/locale'

export const inputs = [
  { path: '?from=2026-03-01&to=2026-12-24' },
  { path: '?from=2025-12-24&to=2026-03-03&locale=de' },
]

export function GET(ctx: Context) {
  const from = parseISO(ctx.get.query('from')!)
  const to = parseISO(ctx.get.query('to')!)
  const locale = ctx.get.query('locale') === 'de' ? de : enGB
  return ctx.send.json({
    days: differenceInCalendarDays(to, from),
    distance: formatDistance(from, to, { locale, addSuffix: true }),
    weeks: eachWeekOfInterval({ start: from, end: to }, { weekStartsOn: 1 })
      .map((week) =>
        `${format(week, "d. MMM yyyy, 'week' I", { locale })}: ${
          format(addBusinessDays(week, 7), 'EEEE', { locale })
        }`
      ),
  })
}
