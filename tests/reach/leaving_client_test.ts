/** Clients that leave while their requests wait for the host, or compute: nobody hears the answer, so the request and its machine end. */
import { Router } from '@mayfly/mayfly'
import { caller } from '@mayfly/mayfly/reach'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { assertEquals, assertRejects } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { RUNTIMES, testIn, testIsolated } from '../isolated/fixture.ts'
import { listen } from '../listening.ts'
import { openTenants } from '../tenants/fixture.ts'
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

const COMPUTES = `export default { fetch(request) {
  if (new URL(request.url).searchParams.has('name')) for (;;);
  return new Response('no name')
} }`

for (const runtime of RUNTIMES) {
  testIn(runtime)(
    'handlers that compute end when their clients leave, those that wait in the queue too',
    async () => {
      const router = new Router({
        routesDir: fromFileUrl(new URL('./computing', import.meta.url)),
        hotReload: false,
        requestTimeoutMs: 0,
        isolate: { vms: 1, runtime, timeoutMs: LONG_MS, cpuMs: LONG_MS },
      })
      let begun = 0
      router.use((_, next) => {
        begun++
        return next()
      })
      const statuses: number[] = []
      router.on('request:error', ({ metadata }) => void statuses.push(metadata.status))
      await using server = await listen((options) => router.serve(options))
      await router.ready()
      const leave = new AbortController()
      const asked = ['a', 'b', 'c'].map(() =>
        fetch(`${server.origin}/compute?for=ever`, { signal: leave.signal }).catch(() => 'left')
      )
      await until('all are here', () => begun === 3)
      leave.abort()
      assertEquals(await Promise.all(asked), ['left', 'left', 'left'])
      await until('all ended', () => statuses.length === 3)
      assertEquals(statuses, [400, 400, 400], 'no failure of the server')
      assertEquals(await (await fetch(`${server.origin}/compute`)).text(), 'done')
    },
  )
}

testIsolated("a sandbox's program that computes ends with the signal of its request", async () => {
  await using sandbox = await Sandbox.open({ vms: 1 })
  const limits = { timeoutMs: LONG_MS, cpuMs: LONG_MS }
  for (const env of [{}, { HELLO: () => 'hello' }]) {
    const worker = sandbox.load({ mainModule: 'main.js', modules: { 'main.js': COMPUTES }, env, limits })
    const leave = new AbortController()
    const asked = worker.fetch(new Request('http://localhost/?name=a', { signal: leave.signal }))
    leave.abort(new RangeError('enough'))
    await assertRejects(() => asked, RangeError, 'enough')
    assertEquals(await (await worker.fetch(new Request('http://localhost/'))).text(), 'no name')
  }
})

testIsolated("a tenant's program that computes ends when its client leaves", async () => {
  await using site = await openTenants({
    files: { 'acme/main.js': COMPUTES },
    tenants: { defaults: { limits: { timeoutMs: LONG_MS, cpuMs: LONG_MS } } },
  })
  for (const init of [{}, { method: 'POST', body: 'text' }]) {
    const leave = new AbortController()
    const asked = site.ask('acme.localhost', '/?name=a', { ...init, signal: leave.signal })
    leave.abort()
    assertEquals((await asked).status, 400)
    assertEquals((await site.ask('acme.localhost')).text, 'no name')
  }
  assertEquals(site.events.filter(({ kind }) => kind === 'tenant:failed'), [])
})
