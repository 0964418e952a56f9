import type { Context } from '@mayfly/mayfly'
import { all, create } from 'mathjs'

export const inputs = [
  {
    json: {
      expression: '(det([a, 2; 3, 4]) + sqrt(b)) * 2 cm to inch',
      scope: { a: 5, b: 16 },
    },
  },
  { json: { expression: 'sum(map([1,2,3], f(x) = x^2)) / 0.1', scope: {} } },
  { json: { expression: '2 +* 3', scope: {} } },
]

const math = create(all!)

export async function POST(ctx: Context) {
  const { expression, scope } = await ctx.get.json<
    { expression: string; scope: Record<string, number> }
  >()
  try {
    const node = math.parse(expression)
    const derived = math.derivative('x^3 + 2x', 'x').toString()
    return ctx.send.json({
      value: math.format(node.evaluate(scope), 10),
      tex: node.toTex(),
      derived,
    })
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
