import type { Context } from '@mayfly/mayfly'
import ExcelJS from 'exceljs'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?sheet=Leute' },
  { path: '?sheet=Gr%C3%B6%C3%9Fen&min=30' },
]

/** Writes a workbook and reads it again: its bytes hold the time. */
export async function GET(ctx: Context) {
  const workbook = new ExcelJS.Workbook()
  const sheet = workbook.addWorksheet(ctx.get.query('sheet'))
  sheet.columns = [{ header: 'Name', key: 'name', width: 30 }, { header: 'Age', key: 'age' }]
  const found = PEOPLE.filter(({ age }) => age >= Number(ctx.get.query('min') ?? 0))
  for (const person of found) sheet.addRow(person)
  sheet.getCell('D1').value = { formula: 'SUM(B2:B99)', result: 7 }
  const bytes = await workbook.xlsx.writeBuffer()
  const back = new ExcelJS.Workbook()
  await back.xlsx.load(bytes)
  const rows: unknown[] = []
  back.worksheets[0].eachRow((row) => void rows.push(row.values))
  return ctx.send.json({
    name: back.worksheets[0].name,
    rows,
    formula: back.worksheets[0].getCell('D1').formula,
  })
}
