import type { Context } from '@mayfly/mayfly'
import * as ini from 'ini'

export const inputs = [
  { text: 'name = größe\n[a.b]\nc[] = 1\nc[] = 2\n; no\nquoted = "x;y"\n' },
  {
    text: Array.from({ length: 80 }, (_, index) => `[section ${index}]\nkey = value ${index}\non = true`)
      .join('\n'),
  },
]

export async function POST(ctx: Context) {
  const value = ini.parse(await ctx.get.text())
  return ctx.send.json({ value, text: ini.stringify(value, { whitespace: true }) })
}
