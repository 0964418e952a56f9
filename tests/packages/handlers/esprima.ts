import type { Context } from '@mayfly/mayfly'
import * as esprima from 'esprima'

interface Token {
  readonly type: string
  readonly value: string
}

export const inputs = [
  {
    text:
      'function größe(a, b) { for (let i = 0; i < a.length; i++) { if (a[i] === b) return i } return -1 }\n'
        .repeat(20),
  },
  { text: 'const x = (a) => `${a}`' },
  { text: 'let = 1 +' },
]

export async function POST(ctx: Context) {
  const text = await ctx.get.text()
  try {
    const tokens = esprima.tokenize(text)
    const { body } = esprima.parseScript(text, { loc: true })
    const identifiers = tokens.filter((token: Token) => token.type === 'Identifier').map(({ value }: Token) =>
      value
    )
    return ctx.send.json({
      tokens: tokens.length,
      identifiers: [...new Set(identifiers)],
      statements: body.length,
    })
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
