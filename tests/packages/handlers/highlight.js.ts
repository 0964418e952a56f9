import type { Context } from '@mayfly/mayfly'
import hljs from 'highlight.js'
import { PROGRAM, STYLES } from '~/texts.ts'

export const inputs = [
  { path: '?language=typescript', text: PROGRAM },
  { path: '?language=css', text: STYLES },
  {
    path: '?language=python',
    text: 'def größe(x):\n    """doc"""\n    return f"{x!r} ü"',
  },
]

export async function POST(ctx: Context) {
  const { value, language, relevance } = hljs.highlight(await ctx.get.text(), {
    language: ctx.get.query('language') ?? 'plaintext',
  })
  return ctx.send.html(
    `<pre><code class="${language}" data-relevance="${relevance}">${value}</code></pre>`,
  )
}
