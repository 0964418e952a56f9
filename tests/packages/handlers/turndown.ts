import type { Context } from '@mayfly/mayfly'
import TurndownService from 'turndown'
import { PAGE } from '~/texts.ts'

export const inputs = [
  { text: PAGE },
  { text: '<ul><li>eins<li>zwölf <b>fett</b> <a href="/x">x</a></ul><pre><code>a\n  b</code></pre>' },
]

const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced' })
service.addRule('cells', { filter: 'td', replacement: (content: string) => `| ${content} ` })

export async function POST(ctx: Context) {
  return ctx.send.text(service.turndown(await ctx.get.text()))
}
