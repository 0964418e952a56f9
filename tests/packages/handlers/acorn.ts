import type { Context } from '@mayfly/mayfly'
import * as acorn from 'acorn'
import * as walk from 'acorn-walk'
import { SCRIPT } from '~/texts.ts'

export const inputs = [
  { text: SCRIPT },
  {
    text: 'const größe = (a, ...b) => `${a}${b}`; class A { #x = 1; static { } }',
  },
  { text: 'let x = ' },
]

export async function POST(ctx: Context) {
  try {
    const tree = acorn.parse(await ctx.get.text(), {
      ecmaVersion: 'latest',
      sourceType: 'module',
    })
    const kinds: Record<string, number> = {}
    walk.full(tree, ({ type }) => void (kinds[type] = (kinds[type] ?? 0) + 1))
    return ctx.send.json(kinds)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return ctx.send.text(error.message, { status: 422 })
  }
}
