/** Starts `?n=` threads, and answers how many there were before the first that was refused. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 20_000,
  memoryMb: 1024,
  warmup: [{ path: '/crowd?n=0' }],
  limits: { threads: 40 },
}

export function GET(ctx: Context): Response {
  const wanted = Number(ctx.get.query('n'))
  const code = URL.createObjectURL(new Blob(['']))
  const workers: Worker[] = []
  try {
    while (workers.length < wanted) workers.push(new Worker(code, { type: 'module' }))
  } catch {
    // The thread was refused.
  }
  return ctx.send.text(String(workers.length))
}
