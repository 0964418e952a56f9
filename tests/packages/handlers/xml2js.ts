import type { Context } from '@mayfly/mayfly'
import xml2js from 'xml2js'
import { FEED } from '~/texts.ts'

export const inputs = [
  { text: FEED },
  { text: '<a x="1"><b>grüße &amp; küsse</b><b/></a>' },
  { text: '<a><b></a>' },
]

export async function POST(ctx: Context) {
  try {
    const value = await xml2js.parseStringPromise(await ctx.get.text(), { explicitArray: false })
    return ctx.send.json({ value, xml: new xml2js.Builder({ headless: true }).buildObject(value) })
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
