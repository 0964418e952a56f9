import type { Context } from '@mayfly/mayfly'
import postcss from 'postcss'
import nested from 'postcss-nested'
import { STYLES } from '~/texts.ts'

export const inputs = [
  { text: STYLES },
  { text: '.a { color: red; &:hover { color: blue; .b & { content: "ü" } } }' },
  { text: '.a { color: red' },
]

const processor = postcss([nested])

export async function POST(ctx: Context) {
  try {
    const result = await processor.process(await ctx.get.text(), {
      from: 'input.css',
    })
    let declarations = 0
    result.root.walkDecls(() => void declarations++)
    ctx.set.header('x-declarations', String(declarations))
    return ctx.send.custom(result.css, {
      headers: { 'content-type': 'text/css; charset=utf-8' },
    })
  } catch (error) {
    if (!(error instanceof postcss.CssSyntaxError)) throw error
    return ctx.send.text(`${error.line}:${error.column}: ${error.reason}`, {
      status: 422,
    })
  }
}
