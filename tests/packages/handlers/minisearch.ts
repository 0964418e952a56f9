import type { Context } from '@mayfly/mayfly'
import MiniSearch from 'minisearch'
import { PARAGRAPHS } from '~/texts.ts'

export const inputs = [
  { path: '?q=machine' },
  { path: '?q=gr%C3%B6%C3%9Fe&fuzzy=0.3' },
  { path: '?q=nothinglikethis' },
]

const search = new MiniSearch<{ id: number; text: string }>({
  fields: ['text'],
  storeFields: ['id'],
})
search.addAll(PARAGRAPHS.map((text, id) => ({ id, text })))

export function GET(ctx: Context) {
  const found = search.search(ctx.get.query('q') ?? '', {
    prefix: true,
    fuzzy: Number(ctx.get.query('fuzzy') ?? 0),
  })
  return ctx.send.json(
    found.map(({ id, score, terms }) => ({
      id,
      score: Math.round(score * 1000),
      terms,
    })),
  )
}
