import type { Context } from '@mayfly/mayfly'
import { marked } from 'marked'

export const isolated = { warmup: [{ path: '/markdown', method: 'POST', body: '# A *title*' }] }

export async function POST(ctx: Context): Promise<Response> {
  return ctx.send.html(await marked.parse(await ctx.get.text()))
}
