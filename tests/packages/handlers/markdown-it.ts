import type { Context } from '@mayfly/mayfly'
import MarkdownIt from 'markdown-it'
import { ARTICLE } from '~/texts.ts'

export const inputs = [
  { text: ARTICLE },
  {
    path: '?html=1',
    text: 'A <b>bold</b> word, "quoted" -- and https://example.com/ü',
  },
]

const safe = new MarkdownIt({ linkify: true, typographer: true })
const open = new MarkdownIt({ html: true, linkify: true, typographer: true })

export async function POST(ctx: Context) {
  const md = ctx.get.query('html') === '1' ? open : safe
  return ctx.send.html(md.render(await ctx.get.text()))
}
