import type { Context } from '@mayfly/mayfly'
import { generate } from '@babel/generator'
import { parse } from '@babel/parser'
import { PROGRAM } from '~/texts.ts'

export const inputs = [
  { text: PROGRAM },
  {
    text: 'enum Größe { S = 1, M }; const a = <T,>(x: T) => x satisfies unknown',
  },
]

export async function POST(ctx: Context) {
  const tree = parse(await ctx.get.text(), {
    sourceType: 'module',
    plugins: ['typescript'],
  })
  const { code } = generate(tree, { compact: true, comments: false })
  return ctx.send.text(code)
}
