import type { Context } from '@mayfly/mayfly'
import rehypeSanitize from 'rehype-sanitize'
import rehypeStringify from 'rehype-stringify'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import remarkRehype from 'remark-rehype'
import { unified } from 'unified'
import { ARTICLE } from '~/texts.ts'

export const inputs = [
  { text: ARTICLE },
  {
    text:
      '# Ärger\n\n<script>alert(1)</script>\n\n~~no~~ [link](javascript:alert(1))\n\nnote[^1]\n\n[^1]: a note',
  },
]

const pipeline = unified().use(remarkParse).use(remarkGfm).use(remarkRehype)
  .use(rehypeSanitize).use(rehypeStringify)

export async function POST(ctx: Context) {
  const file = await pipeline.process(await ctx.get.text())
  return ctx.send.html(String(file))
}
