import type { Context } from '@mayfly/mayfly'

// In the program of do.ts: what is asked here runs in the machine that a hostile request just had.
export const isolated = { timeoutMs: 5000, memoryMb: 16, outputBytes: 10_000 }

let calls = 0

/** As hello.ts, from the program of the hostile handlers. */
export function GET(ctx: Context): Response {
  if (ctx.get.header('x-mayfly-warmup') === undefined) calls++
  const marks = Object.keys(globalThis).filter((name) => name.startsWith('mark'))
  return ctx.send.json({ id: ctx.get.query('id'), calls, marks })
}
