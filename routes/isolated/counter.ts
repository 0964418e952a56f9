import type { Context } from '@mayfly/mayfly'

export const isolated = true

let count = 0

/** The warm-up has counted its own requests. */
export function beforeSnapshot() {
  count = 0
}

/** Always 1: the machine forgets the write with the request. */
export function GET(ctx: Context) {
  return ctx.send.json({ count: ++count })
}
