import type { Context } from '@mayfly/mayfly'
import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser'
import { FEED } from '~/texts.ts'

export const inputs = [
  { text: FEED },
  { text: '<a x="1"><b>grüße &amp; küsse</b><b/><![CDATA[<raw>]]></a>' },
  { text: '<a><b></a>' },
]

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
})
const builder = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  format: true,
})

export async function POST(ctx: Context) {
  const text = await ctx.get.text()
  const valid = XMLValidator.validate(text)
  if (valid !== true) return ctx.send.json(valid.err, { status: 422 })
  const data = parser.parse(text)
  return ctx.send.json({ data, xml: builder.build(data) })
}
