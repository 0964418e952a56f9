import type { Handler } from '@mayfly/mayfly'
import { siteOf } from '../_lib/site.ts'

/** CodeMirror as one script. It keeps its digest, so that browsers ask whether they have it. */
export const GET: Handler = async (ctx) => {
  const { code, etag } = await siteOf(ctx).editor()
  const headers = { etag, 'cache-control': 'no-cache' }
  if (ctx.get.header('if-none-match')?.includes(etag) === true) {
    return new Response(null, { status: 304, headers })
  }
  return new Response(code, { headers: { ...headers, 'content-type': 'text/javascript; charset=utf-8' } })
}
