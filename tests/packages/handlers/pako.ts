import type { Context } from '@mayfly/mayfly'
import * as pako from 'pako'
import { ARTICLE } from '~/texts.ts'

export const inputs = [
  { text: ARTICLE },
  { path: '?level=9', text: 'grüße '.repeat(500) },
  { path: '?back=1', base64: 'eJxLSk4BAAJNAScAAAAA' },
]

export async function POST(ctx: Context) {
  const bytes = await ctx.get.bytes()
  if (ctx.get.query('back') === '1') {
    try {
      return ctx.send.custom(pako.inflate(bytes).slice())
    } catch (error) {
      return ctx.send.text(String(error), { status: 422 })
    }
  }
  const level = Number(ctx.get.query('level') ?? 6) as 6 | 9
  const packed = pako.gzip(bytes, { level })
  ctx.set.header('x-same', String(pako.ungzip(packed).length === bytes.length))
  return ctx.send.custom(packed.slice(), {
    headers: { 'content-type': 'application/gzip' },
  })
}
