import type { Context } from '@mayfly/mayfly'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import { TABLE } from '~/texts.ts'

export const inputs = [
  { text: TABLE },
  { path: '?delimiter=;', text: 'name;größe\n"Ann; ""A""";1,5\nBob;2\n' },
]

export async function POST(ctx: Context) {
  const rows = parse<Record<string, string>>(await ctx.get.text(), {
    columns: true,
    delimiter: ctx.get.query('delimiter') ?? ',',
    cast: (value, { header }) => header || value === '' || isNaN(Number(value)) ? value : Number(value),
  })
  const text = stringify(rows.slice(0, 20), { header: true, quoted: true })
  return ctx.send.custom(text, {
    headers: { 'content-type': 'text/csv; charset=utf-8', 'x-rows': String(rows.length) },
  })
}
