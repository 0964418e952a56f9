import type { Context } from '@mayfly/mayfly'
import iconv from 'iconv-lite'

export const inputs = [
  { path: '?to=windows-1252', text: 'Grüße, 10 €' },
  { path: '?to=shift_jis', text: '日本語テキスト' },
  { path: '?from=koi8-r', base64: '8NLJ18XUIM3J0g==' },
]

export async function POST(ctx: Context) {
  const bytes = await ctx.get.bytes()
  const { from, to } = ctx.get.query()
  if (from !== undefined) return ctx.send.text(iconv.decode(bytes, from))
  const encoded = iconv.encode(new TextDecoder().decode(bytes), to)
  return ctx.send.custom(Uint8Array.from(encoded), {
    headers: { 'content-type': `text/plain; charset=${to}` },
  })
}
