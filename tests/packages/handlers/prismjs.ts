import type { Context } from '@mayfly/mayfly'
import Prism from 'prismjs'
import { SCRIPT, STYLES } from '~/texts.ts'

export const inputs = [
  { path: '?lang=javascript', text: SCRIPT },
  { path: '?lang=css', text: STYLES },
  { path: '?lang=markup', text: '<p class="größe">&amp; <b>x</b></p>' },
]

export async function POST(ctx: Context) {
  const lang = ctx.get.query('lang') ?? 'javascript'
  return ctx.send.html(Prism.highlight(await ctx.get.text(), Prism.languages[lang], lang))
}
