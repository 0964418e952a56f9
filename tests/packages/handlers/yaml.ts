import type { Context } from '@mayfly/mayfly'
import YAML from 'yaml'
import { DOCUMENT } from '~/texts.ts'

export const inputs = [
  { text: YAML.stringify(DOCUMENT) },
  { text: '# ein Kommentar\na: 1 # größe\nb: &x { c: [1, 2] }\nd: *x\n' },
  { text: 'a: b: c' },
]

export async function POST(ctx: Context) {
  const document = YAML.parseDocument(await ctx.get.text())
  if (document.errors.length > 0) {
    return ctx.send.json(document.errors.map(({ code }) => code), { status: 422 })
  }
  document.set('added', 'ja')
  return ctx.send.json({ value: document.toJS(), text: String(document) })
}
