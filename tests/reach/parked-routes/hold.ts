/** Writes to so many MiB, and waits for the host. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { bindings: ['wait'] }

export async function GET(ctx: Context) {
  const { wait } = ctx.env as unknown as { wait(name: string): Promise<string> }
  const kept = new Uint8Array(Number(ctx.get.query('mb')) << 20).fill(7)
  return ctx.send.text(`${await wait(ctx.get.query('name') ?? '')} ${kept.at(-1) ?? 0}`)
}
