import type { Context } from '@mayfly/mayfly'
import slugify from 'slugify'
import { PARAGRAPHS } from '~/texts.ts'

export const inputs = [
  { path: '?text=Gr%C3%B6%C3%9Fe%20%26%20mehr!%20100%20%E2%82%AC' },
  { path: '?text=%D0%9F%D1%80%D0%B8%D0%B2%D0%B5%D1%82&separator=_&locale=de' },
]

export function GET(ctx: Context) {
  const { text, separator = '-', locale } = ctx.get.query()
  const options = { lower: true, strict: true, replacement: separator, locale }
  return ctx.send.json([text, ...PARAGRAPHS].map((line) => slugify(line, options)))
}
