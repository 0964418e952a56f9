import type { Context } from '@mayfly/mayfly'

export const isolated = true

let requests = 0
let drawn = ''

export async function beforeSnapshot(): Promise<void> {
  await Promise.resolve()
  requests = 0
  drawn = crypto.randomUUID()
}

export function GET(ctx: Context): Response {
  return ctx.send.json({ requests: ++requests, drawn })
}
