/**
 * Isolated requests over loopback, with no assumption of speed: `native/hwtest` runs this file on emulated AMD-V and VT-x, where
 * a machine boots some twenty times slower.
 */
import { assertEquals } from '@std/assert'
import { type ListenAddress, Router } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'
import { testIsolated } from './fixture.ts'

interface Answer {
  readonly count: number
  readonly random: number
  readonly uuid: string
}

testIsolated('over a socket, each request meets a fresh module and fresh chance', async () => {
  await serve(async (origin) => {
    const answers: Answer[] = []
    for (let i = 0; i < 5; i++) {
      const response = await fetch(origin)
      assertEquals(response.status, 200)
      answers.push(await response.json())
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

/** Serves `routes/loopback` while `run` works. */
async function serve(run: (origin: string) => Promise<void>): Promise<void> {
  const router = new Router({
    routesDir: fromFileUrl(new URL('./routes/loopback', import.meta.url)),
    hotReload: false,
    // The first request waits for the machines to boot.
    requestTimeoutMs: 0,
    drainMs: 1000,
    isolate: { vms: 1 },
  })
  const stop = new AbortController()
  const listening = Promise.withResolvers<ListenAddress>()
  const served = router.serve({
    port: 0,
    hostname: '127.0.0.1',
    signal: stop.signal,
    onListen: listening.resolve,
  })
  try {
    const { port } = await Promise.race([listening.promise, served.then(() => listening.promise)])
    await run(`http://127.0.0.1:${port}`)
  } finally {
    stop.abort()
    await served
  }
}
