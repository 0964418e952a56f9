/** Waits for the host for as long as that likes. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { bindings: ['wait'], warmup: [{ path: '/wait' }] }

interface Env {
  readonly wait: (name: string) => Promise<never>
}

export async function GET(ctx: Context): Promise<Response> {
  const name = ctx.get.query('name')
  if (name === undefined) return ctx.send.text('no name')
  return await (ctx.env as unknown as Env).wait(name)
}
