import type { Context } from '@mayfly/mayfly'
import { createHighlighterCore } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import css from 'shiki/langs/css.mjs'
import typescript from 'shiki/langs/typescript.mjs'
import light from 'shiki/themes/github-light.mjs'
import { PROGRAM } from '~/texts.ts'

export const inputs = [
  { path: '?lang=typescript', text: PROGRAM },
  { path: '?lang=css', text: '.größe { width: calc(1px + 2%) }' },
]

const highlighter = await createHighlighterCore({
  themes: [light],
  langs: [typescript, css],
  engine: createJavaScriptRegexEngine(),
})

export async function POST(ctx: Context) {
  return ctx.send.html(
    highlighter.codeToHtml(await ctx.get.text(), {
      lang: ctx.get.query('lang') ?? 'typescript',
      theme: 'github-light',
      // By default it gives up after half a second, which a first text may take on a busy host.
      tokenizeTimeLimit: 0,
    }),
  )
}
