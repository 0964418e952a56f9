import type { Context } from '@mayfly/mayfly'
import * as babel from 'prettier/plugins/babel'
import * as estree from 'prettier/plugins/estree'
import * as postcss from 'prettier/plugins/postcss'
import { format } from 'prettier/standalone'
import { SCRIPT, STYLES } from '~/texts.ts'

export const inputs = [
  { path: '?parser=babel', text: SCRIPT },
  { path: '?parser=css', text: STYLES },
  { path: '?parser=json', text: '{"größe":[1,2,{"a":null}]}' },
]

export async function POST(ctx: Context) {
  const text = await format(await ctx.get.text(), {
    parser: ctx.get.query('parser') ?? 'babel',
    plugins: [babel, estree.default ?? estree, postcss],
    semi: false,
    singleQuote: true,
  })
  return ctx.send.text(text)
}
