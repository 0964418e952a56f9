import type { Context } from '@mayfly/mayfly'
import { parseDocument, Parser } from 'htmlparser2'
import { PAGE } from '~/texts.ts'

export const inputs = [
  { text: PAGE },
  { text: '<p>Grüße &auml; &#x1f41d;<br>2<!-- no --><svg><a xlink:href=x /></svg>' },
]

export async function POST(ctx: Context) {
  const html = await ctx.get.text()
  const counts: Record<string, number> = {}
  let text = ''
  const parser = new Parser({
    onopentag: (name) => void (counts[name] = (counts[name] ?? 0) + 1),
    ontext: (part) => void (text += part),
  })
  parser.write(html)
  parser.end()
  return ctx.send.json({
    counts,
    text: text.replace(/\s+/g, ' '),
    nodes: parseDocument(html).children.length,
  })
}
