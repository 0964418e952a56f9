import type { Context } from '@mayfly/mayfly'
import sanitize from 'sanitize-html'
import { PAGE } from '~/texts.ts'

export const inputs = [
  {
    form: {
      comment: '<b onclick="x()">bold</b> <img src=x onerror=alert(1)> grüße <a href="javascript:1">x</a>',
    },
  },
  { form: { comment: PAGE } },
]

export async function POST(ctx: Context) {
  const form = await ctx.get.formData()
  const clean = sanitize(String(form.get('comment')), {
    allowedTags: [
      'b',
      'i',
      'em',
      'strong',
      'a',
      'p',
      'ul',
      'li',
      'table',
      'tr',
      'td',
      'h1',
      'h2',
    ],
    allowedAttributes: { a: ['href'] },
    transformTags: { h1: 'h2' },
  })
  return ctx.send.html(clean)
}
