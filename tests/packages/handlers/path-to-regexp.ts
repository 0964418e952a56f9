import type { Context } from '@mayfly/mayfly'
import { compile, match, parse } from 'path-to-regexp'

export const inputs = [
  {
    json: {
      pattern: '/:lang/posts{/:slug}',
      path: '/de/posts/gr%C3%BC%C3%9Fe',
      params: { lang: 'en', slug: 'größe' },
    },
  },
  { json: { pattern: '/files/*rest', path: '/files/a/b', params: { rest: ['x', 'y z'] } } },
  { json: { pattern: '/{', path: '/', params: {} } },
]

export async function POST(ctx: Context) {
  const { pattern, path, params } = await ctx.get.json<
    { pattern: string; path: string; params: Record<string, string> }
  >()
  try {
    const found = match(pattern)(path)
    return ctx.send.json({
      found: found && found.params,
      built: compile(pattern)(params),
      tokens: parse(pattern).tokens,
    })
  } catch (error) {
    return ctx.send.text((error as Error).message, { status: 422 })
  }
}
