import type { Context } from '@mayfly/mayfly'
import { Document, HeadingLevel, Packer, Paragraph, Table, TableCell, TableRow, TextRun } from 'docx'
import { unzipSync } from 'fflate'
import { PARAGRAPHS } from '~/texts.ts'

export const inputs = [
  { path: '?title=Bericht' },
  { path: '?title=Gr%C3%B6%C3%9Fe&parts=3' },
]

/** Makes a document; the answer is its text, as the file itself holds the time. */
export async function GET(ctx: Context) {
  const title = ctx.get.query('title')!
  const parts = PARAGRAPHS.slice(0, Number(ctx.get.query('parts') ?? 10))
  const cell = (text: string) => new TableCell({ children: [new Paragraph(text)] })
  const document = new Document({
    sections: [{
      children: [
        new Paragraph({ text: title, heading: HeadingLevel.HEADING_1 }),
        ...parts.map((text) => new Paragraph({ children: [new TextRun({ text, bold: text.length > 300 })] })),
        new Table({ rows: [1, 2].map((row) => new TableRow({ children: [cell(`${row}`), cell('zwölf')] })) }),
      ],
    }],
  })
  const bytes = await Packer.toBuffer(document)
  const xml = new TextDecoder().decode(unzipSync(bytes)['word/document.xml'])
  return ctx.send.text(xml)
}
