import type { Context } from '@mayfly/mayfly'
import { minify } from 'html-minifier-terser'
import { PAGE } from '~/texts.ts'

export const inputs = [
  { text: PAGE },
  {
    text: '<!-- x --> <p  class = "b a" >\n\n Grüße   <script> let  x = 1 ;  console.log( x ) </script></p>',
  },
]

export async function POST(ctx: Context) {
  const html = await minify(await ctx.get.text(), {
    collapseWhitespace: true,
    removeComments: true,
    removeOptionalTags: true,
    minifyCSS: true,
    minifyJS: true,
    sortClassName: true,
  })
  return ctx.send.html(html)
}
