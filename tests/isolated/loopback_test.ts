/**
 * Isolated requests over loopback, with no assumption of speed: `native/hwtest` runs this file on emulated AMD-V and VT-x, where
 * a machine boots some twenty times slower.
 */
import { assertEquals } from '@std/assert'
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { type Runtime, RUNTIMES, testIn } from './fixture.ts'
import { listen } from '../listening.ts'

const START_MS = 600_000

interface Answer {
  readonly count: number
  readonly random: number
  readonly uuid: string
}

for (const runtime of RUNTIMES) {
  testIn(runtime)('over a socket, each request meets a fresh module and fresh randomness', async () => {
    await serve(runtime, async (origin, events) => {
      await untilStarted(origin)
      const answers: Answer[] = []
      for (let i = 0; i < 5; i++) {
        const response = await fetch(origin)
        const text = await response.text()
        assertEquals(response.status, 200, `${text}\n${JSON.stringify(events)}`)
        answers.push(JSON.parse(text))
      }
      assertEquals(answers.map(({ count }) => count), [1, 1, 1, 1, 1])
      assertEquals(new Set(answers.map(({ random }) => random)).size, 5)
      assertEquals(new Set(answers.map(({ uuid }) => uuid)).size, 5)
      // An endless loop is stopped, and its neighbour is answered as before.
      const spun = await fetch(`${origin}/spin`)
      assertEquals([spun.status, (await spun.text()).length > 0], [504, true])
      const { count } = await (await fetch(origin)).json()
      assertEquals(count, 1)
    })
  })
}

/** Asks as a patient client does, until the machines have booted. */
async function untilStarted(origin: string): Promise<void> {
  for (const end = performance.now() + START_MS; performance.now() < end;) {
    const response = await fetch(origin, { headers: { accept: 'application/problem+json' } })
    const text = await response.text()
    if (response.status !== 503 || !text.includes('isolation-starting')) return
  }
  throw new Error(`Cannot wait longer for ${origin}: the machines still start after ${START_MS} ms`)
}

/** Serves `routes/loopback` while `run` works. */
async function serve(
  runtime: Runtime,
  run: (origin: string, events: LifecycleEvent[]) => Promise<void>,
): Promise<void> {
  const router = new Router({
    routesDir: fromFileUrl(new URL('./routes/loopback', import.meta.url)),
    hotReload: false,
    requestTimeoutMs: 0,
    drainMs: 1000,
    isolate: { vms: 1, runtime },
  })
  const events: LifecycleEvent[] = []
  router.on('isolate:*', (event) => void events.push(event))
  await using server = await listen((options) => router.serve(options))
  await run(server.origin, events)
}
