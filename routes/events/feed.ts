import type { Handler } from '@mayfly/mayfly'
import { HttpError } from '@mayfly/mayfly'
import { follow, isFull } from '../_lib/feed.ts'
import { siteOf } from '../_lib/site.ts'

/** Live events; `?kind=request:complete` asks for one kind. */
export const GET: Handler = (ctx) => {
  const { feed } = siteOf(ctx)
  const kind = ctx.get.query('kind')
  if (isFull(feed)) throw new HttpError(503, 'Too many readers', { headers: { 'retry-after': '30' } })
  const entries = follow(feed, (entry) => kind === undefined || entry.kind === kind, ctx.get.signal())
  return ctx.send.sse(messages(entries))
}

async function* messages(entries: ReturnType<typeof follow>) {
  try {
    for await (const entry of entries) yield { event: 'entry', data: entry }
  } finally {
    await entries.return?.()
  }
}
