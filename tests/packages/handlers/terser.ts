import type { Context } from '@mayfly/mayfly'
import { minify } from 'terser'
import { SCRIPT } from '~/texts.ts'

export const inputs = [
  { text: SCRIPT },
  {
    text:
      'function f(unused) { const text = "grüße"; if (false) { f() } return text + 1 * 2 }\nconsole.log(f())',
  },
]

export async function POST(ctx: Context) {
  const { code } = await minify(await ctx.get.text(), {
    module: true,
    compress: { passes: 2 },
  })
  return ctx.send.custom(code ?? '', {
    headers: { 'content-type': 'text/javascript; charset=utf-8' },
  })
}
