import type { Context } from '@mayfly/mayfly'
import showdown from 'showdown'
import { ARTICLE } from '~/texts.ts'

export const inputs = [
  { text: ARTICLE },
  { path: '?to=markdown', text: '# Ärger\n\nein *Wort* und `code`' },
]

export async function POST(ctx: Context) {
  const converter = new showdown.Converter({ tables: true, ghCompatibleHeaderId: true, strikethrough: true })
  return ctx.send.html(converter.makeHtml(await ctx.get.text()))
}
