import type { Context } from '@mayfly/mayfly'
import JSON5 from 'json5'

export const inputs = [
  { text: `{ // ein Kommentar\n  größe: +.5, 'b': [1, 2,], hex: 0xFF, text: 'a\\\nb', }` },
  { text: `[${Array.from({ length: 100 }, (_, index) => `{id: ${index}, name: 'n${index}',}`).join(',')}]` },
  { text: '{a:' },
]

export async function POST(ctx: Context) {
  try {
    const value = JSON5.parse(await ctx.get.text())
    return ctx.send.json({ value, text: JSON5.stringify(value, null, 2) })
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
