import type { Handler } from '@mayfly/mayfly'

/** One or more segments, decoded and joined by slashes. */
export const GET: Handler = (ctx) => ctx.send.json({ path: ctx.get.param('path') })
