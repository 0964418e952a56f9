import type { Context } from '@mayfly/mayfly'
import * as XLSX from 'xlsx'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?type=xlsx' },
  { path: '?type=csv' },
  { text: 'a;b\n1;größe\n2;"x;y"\n' },
]

export function GET(ctx: Context) {
  const sheet = XLSX.utils.json_to_sheet(PEOPLE.map(({ name, age }) => ({ name, age })))
  if (ctx.get.query('type') === 'csv') return ctx.send.text(XLSX.utils.sheet_to_csv(sheet, { FS: ';' }))
  const book = XLSX.utils.book_new()
  XLSX.utils.book_append_sheet(book, sheet, 'Leute')
  const bytes = XLSX.write(book, { type: 'array', bookType: 'xlsx', compression: true })
  const back = XLSX.read(bytes, { type: 'array' })
  return ctx.send.json({ names: back.SheetNames, rows: XLSX.utils.sheet_to_json(back.Sheets.Leute) })
}

export async function POST(ctx: Context) {
  const book = XLSX.read(await ctx.get.text(), { type: 'string', FS: ';' })
  return ctx.send.json(XLSX.utils.sheet_to_json(book.Sheets[book.SheetNames[0]]))
}
