import type { Context } from '@mayfly/mayfly'
import pluralize from 'pluralize'

export const inputs = [
  { json: { words: ['person', 'mouse', 'index', 'sheep', 'Café', 'analysis', 'Box'], count: 3 } },
  { json: { words: ['people', 'mice', 'regatta'], count: 1 } },
]

export async function POST(ctx: Context) {
  const { words, count } = await ctx.get.json<{ words: string[]; count: number }>()
  return ctx.send.json(words.flatMap((word) => [
    pluralize(word, count, true),
    pluralize.singular(word),
    pluralize.plural(word),
    pluralize.isPlural(word),
  ]))
}
