import { type Handler, HttpError } from '@mayfly/mayfly'
import { siteOf } from '../_lib/site.ts'
import { MAX_PATH } from '../_lib/tenants/draft.ts'
import { TENANTS } from '../_lib/tenants/tenants.ts'

/** Asks a tenant as its host would, and shows what it answers as text, so that nothing of it runs on this page's host. */
export const GET: Handler = async (ctx) => {
  const { domain, fetch } = siteOf(ctx)
  const name = ctx.get.query('tenant')
  const path = ctx.get.query('path') ?? '/'
  if (!TENANTS.some((tenant) => tenant.name === name)) {
    throw new HttpError(400, `tenant is none, want ${TENANTS.map(({ name }) => name).join(', ')}`)
  }
  if (!path.startsWith('/') || path.length > MAX_PATH) {
    throw new HttpError(400, `path is none, want "/" and at most ${MAX_PATH} characters`)
  }
  const headers = { accept: ctx.get.header('accept') ?? '*/*' }
  const { status, body } = await fetch(new Request(`http://${name}.${domain}${path}`, { headers }))
  return new Response(body, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  })
}
