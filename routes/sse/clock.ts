import type { Handler } from '@mayfly/mayfly'
import { delay } from '@std/async'

/** The server's time, once a second, for an hour at most. */
async function* ticks(signal: AbortSignal) {
  for (let id = 1; id <= 3600 && !signal.aborted; id++) {
    yield { event: 'tick', id, data: { iso: new Date().toISOString() } }
    await delay(1000 - Date.now() % 1000, { signal }).catch(() => {})
  }
}

export const GET: Handler = (ctx) => ctx.send.sse(ticks(ctx.get.signal()))
