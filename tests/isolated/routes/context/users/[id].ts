import { type Context, HttpError } from '@mayfly/mayfly'

export const isolated = { warmup: 5 }

export function GET(ctx: Context): Response {
  if (ctx.get.param('id') === 'none') throw new HttpError(404, 'There is no such user')
  return ctx.send.json({ id: ctx.get.param('id'), query: ctx.get.query(), path: ctx.get.pathname() })
}

export async function POST(ctx: Context): Promise<Response> {
  return ctx.send.json({ id: ctx.get.param('id'), got: await ctx.get.json() }, { status: 201 })
}

export async function PUT(ctx: Context): Promise<Response> {
  return new Response(await ctx.get.bytes(), { headers: { 'content-type': 'application/octet-stream' } })
}

export function DELETE(ctx: Context): Response {
  return ctx.send.empty()
}
