import type { Context } from '@mayfly/mayfly'

export const isolated = { outbound: true, warmup: 20 }

export async function GET(ctx: Context): Promise<Response> {
  const response = await fetch(ctx.get.query('url') ?? '').catch((error: Error) => error)
  if (response instanceof Error) return ctx.send.text(response.message)
  return ctx.send.text(`${response.status} ${await response.text()}`)
}
