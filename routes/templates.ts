import type { Context, Handler } from '@mayfly/mayfly'
import { renderPage } from './_lib/page.ts'
import { type Attempt, EXAMPLE, renderAttempt } from './_lib/templates.ts'
import { siteOf } from './_lib/site.ts'

export const GET: Handler = (ctx) => show(ctx, EXAMPLE.template, EXAMPLE.data)

/** A script sends JSON and gets JSON; a plain form gets the page. */
export const POST: Handler = async (ctx) => {
  const wantsJson = ctx.get.header('content-type')?.startsWith('application/json') === true
  const draft = await ctx.get.body() as Record<string, unknown> | undefined
  const template = textOf(draft?.template)
  const data = textOf(draft?.data)
  if (wantsJson) return ctx.send.json(await renderAttempt(siteOf(ctx).templates, template, data))
  return show(ctx, template, data)
}

async function show(ctx: Context, template: string, data: string): Promise<Response> {
  const attempt: Attempt = await renderAttempt(siteOf(ctx).templates, template, data)
  return renderPage(ctx, 'templates', {
    href: '/templates',
    description:
      'Text with tags, escaped unless you say otherwise, compiled once into a function. Change either field.',
    sources: [
      'routes/templates.ts',
      'routes/_lib/templates.ts',
      'views/templates.dve',
      'views/draft/card.dve',
    ],
    scripts: ['templates.js'],
    data: { template, json: data, attempt },
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
}
