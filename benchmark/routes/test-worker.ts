import type { Context } from '@mayfly/mayfly'

export async function GET(ctx: Context): Promise<Response> {
  if (ctx.worker === undefined) {
    ctx.fail(503, 'This server has no worker pool: start benchmark/main-worker.ts')
  }
  return ctx.send.json(await ctx.worker.run(50_000))
}
