import type { Context } from '@mayfly/mayfly'

export const isolated = { memoryMb: 96 }

let requests = 0

export function beforeSnapshot(): void {
  throw new RangeError(`cannot forget ${requests > 0 ? 'requests' : 'nothing'}`)
}

export function GET(ctx: Context): Response {
  return ctx.send.json({ requests: ++requests })
}
