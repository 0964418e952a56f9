import type { Context } from '@mayfly/mayfly'
import { PDFDocument, rgb, StandardFonts } from 'pdf-lib'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?title=Invoice' },
  { path: '?title=Gr%C3%B6%C3%9Fe' },
]

const DATE = new Date('2026-01-02T03:04:05Z')

export async function GET(ctx: Context) {
  const pdf = await PDFDocument.create({ updateMetadata: false })
  pdf.setCreationDate(DATE)
  pdf.setTitle(ctx.get.query('title')!)
  const font = await pdf.embedFont(StandardFonts.Helvetica)
  const page = pdf.addPage([595, 842])
  page.drawText(ctx.get.query('title')!, {
    x: 50,
    y: 780,
    size: 24,
    font,
    color: rgb(0, 0.3, 0.6),
  })
  const latin = PEOPLE.filter(({ name }) => /^[ -ÿ]+$/.test(name))
  latin.forEach(({ name, age }, row) =>
    page.drawText(`${name}: ${age}`, {
      x: 50,
      y: 740 - row * 20,
      size: 12,
      font,
    })
  )
  page.drawRectangle({
    x: 40,
    y: 40,
    width: 515,
    height: 762,
    borderWidth: 1,
    borderColor: rgb(0, 0, 0),
  })
  const bytes = await pdf.save()
  return ctx.send.custom(bytes.slice(), {
    headers: { 'content-type': 'application/pdf' },
  })
}
