/** Streams for clients that behave as clients do. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  warmup: [{ path: '/do?n=2' }],
  bindings: ['TELL'],
  timeoutMs: 60_000,
  limits: { streamMs: 600_000, streamIdleMs: 60_000, streamBytes: 67_108_864 },
}

interface Env {
  readonly TELL: (what: string) => Promise<void>
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

export function GET(ctx: Context): Response {
  const { TELL } = ctx.env as unknown as Env
  const n = Number(ctx.get.query('n'))
  return ctx.send.sse(async function* () {
    try {
      for (let i = 0; i < n; i++) {
        await pause(5)
        yield { id: `${i}`, data: { client: ctx.get.query('client') } }
      }
    } finally {
      await TELL(`over ${ctx.get.query('client')}`)
    }
  }())
}
