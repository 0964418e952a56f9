import { type Handler, HttpError } from '@mayfly/mayfly'
import { runOrRefuse } from '../../_lib/playground/refuse.ts'
import { siteOf } from '../../_lib/site.ts'
import { askDraft, EDITED, MAX_DRAFT, MAX_PATH } from '../../_lib/tenants/draft.ts'
import { showTenants } from '../../_lib/tenants/page.ts'

/** Asks a visitor's version of a tenant. A script sends JSON and gets JSON; a plain form gets the page. */
export const POST: Handler = async (ctx) => {
  const isScript = ctx.get.header('content-type')?.startsWith('application/json') === true
  const { code, path } = readDraft(await ctx.get.body())
  const { playground, domain } = siteOf(ctx)
  const url = `http://${EDITED}.${domain}${path}`
  const result = await runOrRefuse(ctx, () => askDraft(playground, code, url))
  if (isScript) return ctx.send.json(result, { headers: { 'cache-control': 'no-store' } })
  return showTenants(ctx, { code, path, result })
}

/** What a client sent may be anything. Throws `HttpError` 400. */
function readDraft(body: unknown): { code: string; path: string } {
  const { code, path } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (typeof code !== 'string') throw new HttpError(400, 'code is missing: want the text of a program')
  if (code.length > MAX_DRAFT) {
    throw new HttpError(400, `code has ${code.length} characters: want at most ${MAX_DRAFT}`)
  }
  if (typeof path !== 'string' || !path.startsWith('/') || path.length > MAX_PATH) {
    throw new HttpError(400, `path is none: want "/" and at most ${MAX_PATH} characters`)
  }
  return { code: code.replaceAll('\r\n', '\n'), path }
}
