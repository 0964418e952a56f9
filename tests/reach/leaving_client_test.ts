/** Clients that leave while their requests wait for the host: nobody hears the answer, so the wait and its machine end. */
import { Router } from '@mayfly/mayfly'
import { caller } from '@mayfly/mayfly/reach'
import { assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { RUNTIMES, testIn } from '../isolated/fixture.ts'
import { listen } from '../listening.ts'
import { until } from '../until.ts'

/** Longer than the test may take. */
const LONG_MS = 600_000

for (const runtime of RUNTIMES) {
  testIn(runtime)('a call that waits ends when its client leaves, and its place is free again', async () => {
    let begun = 0
    const ended: string[] = []
    const router = new Router({
      routesDir: fromFileUrl(new URL('./waiting', import.meta.url)),
      hotReload: false,
      requestTimeoutMs: 0,
      isolate: {
        vms: 1,
        runtime,
        timeoutMs: LONG_MS,
        parked: { each: 2, all: 2 },
        bindings: {
          wait(name: string) {
            begun++
            const { promise, reject } = Promise.withResolvers<never>()
            caller()!.signal.addEventListener('abort', () => {
              ended.push(name)
              reject(new Error('nobody waits'))
            })
            return promise
          },
        },
      },
    })
    const statuses: number[] = []
    router.on('request:error', ({ metadata }) => void statuses.push(metadata.status))
    await using server = await listen((options) => router.serve(options))
    await router.ready()
    // Twice: each takes all the places that there are.
    for (const [round, names] of [['a', 'b'], ['c', 'd']].entries()) {
      const leave = new AbortController()
      const asked = names.map((name) =>
        fetch(`${server.origin}/wait?name=${name}`, { signal: leave.signal }).then(
          ({ status }) => `status ${status}`,
          () => 'left',
        )
      )
      await until('both wait', () => begun === 2 * (round + 1))
      leave.abort()
      assertEquals(await Promise.all(asked), ['left', 'left'])
      await until('both ended', () => ended.length === 2 * (round + 1))
    }
    assertEquals(ended.toSorted(), ['a', 'b', 'c', 'd'])
    assertEquals(await fetch(`${server.origin}/wait`).then((response) => response.text()), 'no name')
    assertEquals(statuses, [400, 400, 400, 400], 'no failure of the server')
  })
}
