import type { Context } from '@mayfly/mayfly'
import MagicString from 'magic-string'
import { SCRIPT } from '~/texts.ts'

export const inputs = [
  { text: SCRIPT },
  { text: 'const größe = 1\nexport default größe\n' },
]

export async function POST(ctx: Context) {
  const text = new MagicString(await ctx.get.text())
  text.replaceAll('const ', 'let ').prepend('/* made */\n').indent('  ').append('\n')
  const map = text.generateMap({ source: 'in.js', includeContent: false, hires: true })
  return ctx.send.json({ text: text.toString(), mappings: map.mappings, names: map.names })
}
