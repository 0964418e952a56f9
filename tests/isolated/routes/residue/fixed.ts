import type { Context } from '@mayfly/mayfly'

export const isolated = true

let first: string | undefined

export function beforeSnapshot(): void {
  first = undefined
}

export function GET(ctx: Context): Response {
  first ??= ctx.get.query('id')
  return ctx.send.json({ first })
}
