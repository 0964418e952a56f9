import type { Context } from '@mayfly/mayfly'
import { minify, syntax } from 'csso'

export const inputs = [
  {
    text: '.a { margin: 0px 0px 0px 0px; color: #ff0000 }\n.b { color: red; font-weight: normal }\n'.repeat(
      40,
    ),
  },
  { text: '.größe::before { content: "ü" } .x { color: rgba(255, 0, 0, 1) }' },
]

export async function POST(ctx: Context) {
  const { css } = minify(await ctx.get.text())
  const classes = new Set<string>()
  syntax.walk(
    syntax.parse(css),
    (node: { type: string; name: string }) => void (node.type === 'ClassSelector' && classes.add(node.name)),
  )
  return ctx.send.json({ css, classes: [...classes] })
}
