import type { Context } from '@mayfly/mayfly'
import dotenv from 'dotenv'

export const inputs = [
  { text: 'NAME=größe\n# ein Kommentar\nQUOTED="zwei\\nZeilen"\nexport SINGLE=\'a b\'\nEMPTY=\n' },
  { text: Array.from({ length: 100 }, (_, index) => `KEY_${index}=value ${index} # no`).join('\n') },
]

export async function POST(ctx: Context) {
  const parsed = dotenv.parse(await ctx.get.text())
  const target: Record<string, string> = { NAME: 'before' }
  dotenv.populate(target, parsed, { override: false })
  return ctx.send.json({ parsed, target })
}
