import type { Context, Handler } from '@mayfly/mayfly'
import { checkDraft, type DraftErrors, sign } from '../_lib/guestbook.ts'
import { renderPage } from '../_lib/page.ts'
import { siteOf } from '../_lib/site.ts'

/** What the signed cookie keeps. */
interface Visitor {
  readonly name: string
  /** Said once, on the next page. */
  readonly flash?: string
}

export const GET: Handler = (ctx) => {
  const visitor = ctx.get.session<Visitor>()
  if (visitor?.flash !== undefined) ctx.set.session({ name: visitor.name })
  return show(ctx, { name: visitor?.name ?? '', message: '' }, {}, visitor?.flash)
}

/** Post, redirect, get: a reload of the answer signs nothing twice. */
export const POST: Handler = async (ctx) => {
  const form = await ctx.get.formData()
  const name = String(form.get('name') ?? '').trim()
  const message = String(form.get('message') ?? '').trim()
  const errors = checkDraft(name, message)
  if (errors.name !== undefined || errors.message !== undefined) return show(ctx, { name, message }, errors)
  sign(siteOf(ctx).guestbook, { name, message, at: Date.now() })
  ctx.set.session({ name, flash: `Thank you, ${name}. Your entry is the first one below.` })
  return ctx.send.redirect('/guestbook', 303)
}

function show(
  ctx: Context,
  draft: { name: string; message: string },
  errors: DraftErrors,
  flash?: string,
): Promise<Response> {
  const entries = siteOf(ctx).guestbook.entries.map(({ name, message, at }) => ({
    name,
    message,
    iso: new Date(at).toISOString(),
    time: `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
  }))
  return renderPage(ctx, 'guestbook', {
    href: '/guestbook',
    description:
      'Sign it. The form carries a token, your name stays in a signed cookie, and nothing here needs a script.',
    status: errors.name === undefined && errors.message === undefined ? 200 : 422,
    sources: [
      'routes/guestbook/index.ts',
      'routes/_lib/guestbook.ts',
      'views/guestbook.dve',
      'routes/guestbook/forget.ts',
    ],
    data: { draft, errors, flash, entries, token: ctx.state.csrfToken, known: ctx.get.session() !== null },
  })
}
