/** Fails in a helper, at positions that the bundle does not have. */
import type { Context } from '@mayfly/mayfly'
import { failIn, type Way } from '../../fail_helper.ts'

export const isolated = { timeoutMs: 10_000, warmup: [{ path: '/fail?in=nothing' }] }

/** What goes from the bundle: the lines below are others there. */
interface Unused {
  readonly first: string
  readonly second: string
}

export async function GET(ctx: Context): Promise<Response> {
  const none: Unused | undefined = undefined
  const way = ctx.get.query('in') as Way
  return ctx.send.text(await failIn(way) + String(none))
}
