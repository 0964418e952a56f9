import type { Context } from '@mayfly/mayfly'

export const isolated = true

let calls = 0

/** What most ask for. `calls` is 1 unless a request left something behind. */
export function GET(ctx: Context): Response {
  if (ctx.get.header('x-mayfly-warmup') === undefined) calls++
  return ctx.send.json({ id: ctx.get.query('id'), calls })
}
