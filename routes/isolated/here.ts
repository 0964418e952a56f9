import type { Context } from '@mayfly/mayfly'

let count = 0

/** The same handler in this process: it goes on counting. */
export function GET(ctx: Context) {
  count++
  return ctx.send.json({ count })
}
