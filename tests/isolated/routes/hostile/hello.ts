import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 10_000, cpuMs: 400, memoryMb: 64, outputBytes: 100_000, warmup: 50 }

let calls = 0

export function GET(ctx: Context): Response {
  if (ctx.get.header('x-mayfly-warmup') === undefined) calls++
  return ctx.send.json({ hello: 'world', calls })
}
