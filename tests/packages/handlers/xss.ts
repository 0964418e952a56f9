import type { Context } from '@mayfly/mayfly'
import { FilterXSS } from 'xss'
import { PAGE } from '~/texts.ts'

export const inputs = [
  { form: { html: PAGE } },
  {
    form: {
      html: '<a href="javascript:alert(1)" title="ü">x</a><img src=x onerror=alert(1)><custom data-x="1">',
    },
  },
]

const filter = new FilterXSS({
  whiteList: { a: ['href', 'title'], p: ['class'], h1: [], h2: ['id'], custom: ['data-x'] },
  stripIgnoreTagBody: ['script', 'style'],
})

export async function POST(ctx: Context) {
  const form = await ctx.get.formData()
  return ctx.send.html(filter.process(String(form.get('html'))))
}
