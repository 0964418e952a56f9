/** Says what its query says: text of any script. */
import type { Context } from '@mayfly/mayfly'

export const isolated = true

export function GET(ctx: Context): Response {
  return ctx.send.json({ q: ctx.get.query('q') ?? null })
}
