import type { Context } from '@mayfly/mayfly'
import moment from 'moment'
import 'moment/locale/de.js'

export const inputs = [
  { path: '?at=2026-03-31T23:30:00Z&locale=en' },
  { path: '?at=2024-02-29T00:00:00Z&locale=de' },
]

export function GET(ctx: Context) {
  const at = moment.utc(ctx.get.query('at')).locale(ctx.get.query('locale') ?? 'en')
  const rows = Array.from({ length: 24 }, (_, index) => at.clone().add(index, 'months').endOf('week'))
  return ctx.send.json({
    rows: rows.map((row) => row.format('dddd, Do MMMM YYYY, HH:mm [week] w')),
    distance: moment.duration(rows[23].diff(at)).locale(at.locale()).humanize(),
    valid: moment.utc('31.02.2026', 'DD.MM.YYYY', true).isValid(),
  })
}
