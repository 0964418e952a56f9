import type { Context } from '@mayfly/mayfly'
import { applyPatch, createPatch, diffWords } from 'diff'
import { PARAGRAPHS } from '~/texts.ts'

export const inputs = [
  {
    json: {
      before: PARAGRAPHS.slice(0, 8).join('\n'),
      after: PARAGRAPHS.slice(1, 9).join('\n').replaceAll('page', 'Seite'),
    },
  },
  { json: { before: 'eins\nzwei\n', after: 'eins\nzwölf\n' } },
]

export async function POST(ctx: Context) {
  const { before, after } = await ctx.get.json<{ before: string; after: string }>()
  const patch = createPatch('text.txt', before, after, '', '')
  const words = diffWords(before, after)
  return ctx.send.json({
    patch,
    applied: applyPatch(before, patch) === after,
    added: words.filter(({ added }) => added).length,
    removed: words.filter(({ removed }) => removed).length,
  })
}
