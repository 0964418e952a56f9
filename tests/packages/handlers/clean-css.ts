import type { Context } from '@mayfly/mayfly'
import CleanCSS from 'clean-css'

export const inputs = [
  {
    text: '.a { margin: 0px 0px 0px 0px; color: #ff0000 }\n.b { color: red; font-weight: normal }\n'.repeat(
      40,
    ),
  },
  { text: '.größe { background: url( "a b.png" ) ; } @media print { .x { color : black } }' },
]

const minifier = new CleanCSS({ level: 2 })

export async function POST(ctx: Context) {
  const { styles, warnings } = minifier.minify(await ctx.get.text())
  return ctx.send.custom(styles, {
    headers: { 'content-type': 'text/css; charset=utf-8', 'x-warnings': String(warnings.length) },
  })
}
