import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/lunr"
import lunr from 'lunr'
import { PARAGRAPHS } from '~/texts.ts'

export const inputs = [
  { path: '?q=machines%20copy' },
  { path: '?q=%2Bpage%20-median' },
  { path: '?q=gr%C3%B6%C3%9Fe~1' },
]

const index = lunr(function (this: lunr.Builder) {
  this.ref('id')
  this.field('text')
  PARAGRAPHS.forEach((text, id) => this.add({ id, text }))
})

export function GET(ctx: Context) {
  const found = index.search(ctx.get.query('q')!)
  return ctx.send.json(
    found.map(({ ref, score, matchData }) => ({
      ref,
      score: score.toFixed(3),
      terms: Object.keys(matchData.metadata),
    })),
  )
}
