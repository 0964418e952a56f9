import type { Context } from '@mayfly/mayfly'
import Papa from 'papaparse'
import { TABLE } from '~/texts.ts'

export const inputs = [
  { text: TABLE },
  { text: 'name;größe\n"Ann ""A""";1,5\n"x;y";7\nBob' },
]

export async function POST(ctx: Context) {
  const { data, meta, errors } = Papa.parse<Record<string, unknown>>(
    await ctx.get.text(),
    {
      header: true,
      dynamicTyping: true,
      skipEmptyLines: true,
    },
  )
  return ctx.send.json({
    fields: meta.fields,
    delimiter: meta.delimiter,
    rows: data.length,
    errors: errors.map(({ code, row }: { code: string; row?: number }) => ({ code, row })),
    back: Papa.unparse(data.slice(0, 20), { quotes: true }),
  })
}
