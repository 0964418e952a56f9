import type { ErrorHandler } from '@mayfly/mayfly'
import { HttpError } from '@mayfly/mayfly'
import { STATUS_TEXT } from '@std/http/status'
import { renderPage } from './page.ts'
import { siteOf } from './site.ts'

/** The site's error page. It passes on to Mayfly's own answer where that serves better: programs, and developers. */
export const errorPage: ErrorHandler = (ctx, { status, error }) => {
  if (/\bjson\b/.test(ctx.get.header('accept') ?? '')) return
  if (!(error instanceof HttpError) && !siteOf(ctx).production) return
  const title = STATUS_TEXT[status as keyof typeof STATUS_TEXT] ?? 'Error'
  const detail = error instanceof HttpError && error.message !== title ? error.message : ''
  return renderPage(ctx, 'error', {
    href: '',
    title,
    description: `${status} ${title}`,
    status,
    data: { status, title, detail, method: ctx.get.method(), path: ctx.get.pathname() },
  })
}
