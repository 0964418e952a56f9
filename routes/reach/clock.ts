import type { Context } from '@mayfly/mayfly'

export const isolated = {
  limits: { streamMs: 120_000, streamIdleMs: 10_000 },
  warmup: [{ path: '/reach/clock' }],
}

/** The machine's time, once a second, for a minute: between ticks the machine is parked. A browser that wants more asks again. */
async function* ticks() {
  for (let id = 1; id <= 60; id++) {
    yield { event: 'tick', id, data: { iso: new Date().toISOString() } }
    await new Promise((done) => setTimeout(done, 1000 - Date.now() % 1000))
  }
}

export const GET = (ctx: Context) => ctx.send.sse(ticks())
