import type { Context } from '@mayfly/mayfly'

export const isolated = true

let count = 0

/** The warm-up has counted its own requests. */
export function beforeSnapshot(): void {
  count = 0
}

export function GET(ctx: Context): Response {
  return ctx.send.json({ count: ++count })
}
