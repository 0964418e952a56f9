import type { Context } from '@mayfly/mayfly'
import { Marked } from 'marked'
import { ARTICLE } from '~/texts.ts'

export const inputs = [
  { text: ARTICLE },
  {
    text: '| a | b |\n|---|---|\n| 1 | **zwei** |\n\n- [x] done\n- [ ] größer als 🐝',
  },
  { path: '?breaks=1', text: 'one\ntwo <script>alert(1)</script>' },
]

export async function POST(ctx: Context) {
  const marked = new Marked({
    gfm: true,
    breaks: ctx.get.query('breaks') === '1',
  })
  const headings: string[] = []
  marked.use({
    walkTokens: (token) => void (token.type === 'heading' && headings.push(token.text)),
  })
  const html = await marked.parse(await ctx.get.text())
  ctx.set.header('x-headings', String(headings.length))
  return ctx.send.html(html)
}
