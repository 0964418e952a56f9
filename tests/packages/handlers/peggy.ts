import type { Context } from '@mayfly/mayfly'
import peggy from 'peggy'

export const inputs = [
  { text: '1 + 2 * (3 - 4) / 5' },
  { text: Array.from({ length: 60 }, (_, index) => `(${index} * 2)`).join(' + ') },
  { text: '1 + ü' },
]

const parser = peggy.generate(`
Sum = head:Product tail:(_ [+-] _ Product)* { return tail.reduce((a, [, op, , b]) => op === '+' ? a + b : a - b, head) }
Product = head:Value tail:(_ [*/] _ Value)* { return tail.reduce((a, [, op, , b]) => op === '*' ? a * b : a / b, head) }
Value = '(' _ sum:Sum _ ')' { return sum } / digits:$[0-9]+ { return Number(digits) }
_ = ' '*
`)

export async function POST(ctx: Context) {
  try {
    return ctx.send.json({ value: parser.parse(await ctx.get.text()) })
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
