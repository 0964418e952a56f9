import type { Context } from '@mayfly/mayfly'
import katex from 'katex'

export const inputs = [
  {
    json: {
      tex: '\\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx = \\sqrt{\\pi}',
      displayMode: true,
    },
  },
  {
    json: {
      tex: '\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} \\text{größe}',
    },
  },
  { json: { tex: '\\frac{1}{' } },
]

export async function POST(ctx: Context) {
  const { tex, displayMode = false } = await ctx.get.json<
    { tex: string; displayMode?: boolean }
  >()
  return ctx.send.html(
    katex.renderToString(tex, { displayMode, throwOnError: false }),
  )
}
