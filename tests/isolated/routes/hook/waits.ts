import type { Context } from '@mayfly/mayfly'

export const isolated = { memoryMb: 97 }

let requests = 0

export function beforeSnapshot(): Promise<never> {
  return Promise.withResolvers<never>().promise
}

export function GET(ctx: Context): Response {
  return ctx.send.json({ requests: ++requests })
}
