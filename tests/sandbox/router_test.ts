import { assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { ThrownError, TimeoutError } from '@mayfly/mayfly/sandbox'
import { openSite, testIsolated } from '../isolated/fixture.ts'
import { rejection } from './fixture.ts'

testIsolated('the sandbox of a router shares its machines, limits and events', async () => {
  const site = openSite('limits', { isolate: { vms: 1, timeoutMs: 300 } })
  try {
    const { router } = site
    const events: LifecycleEvent[] = []
    router.on('sandbox:*', (event) => void events.push(event))
    const { sandbox } = router
    assertEquals(sandbox, router.sandbox)
    const { value } = await sandbox.run('export default (a) => a + 1', { args: [1] })
    assertEquals(value, 2)
    const slow = await rejection(sandbox.run('for (;;);'), TimeoutError)
    assertEquals(slow.limit.value, 300)
    const thrown = await rejection(sandbox.run('throw new TypeError("no")'), ThrownError)
    assertEquals(thrown.message, 'no')
    await thrown.stats!.reset()
    assertEquals(events.map(({ kind }) => kind), [
      'sandbox:complete',
      'sandbox:complete',
      'sandbox:timeout',
      'sandbox:complete',
    ])
  } finally {
    await site.close()
  }
})

testIsolated('a router without isolated routes opens machines for its sandbox', async () => {
  const folder = await Deno.makeTempDir()
  await using router = new Router({ routesDir: folder, hotReload: false, isolate: { vms: 1 } })
  const both = await Promise.all([1, 2].map((n) => router.sandbox.run(`export default ${n}`)))
  assertEquals(both.map(({ value }) => value), [1, 2])
  const { sandbox } = router
  await router.close()
  await assertRejects(() => sandbox.run('export default 1'), Error, 'closed')
  // A router that was closed can be used again.
  assertEquals((await router.sandbox.run('export default 3')).value, 3)
  await Deno.remove(folder)
})

Deno.test('where there are no machines, the sandbox of a router says so', async () => {
  const routesDir = fromFileUrl(new URL('../isolated/routes/limits', import.meta.url))
  await using router = new Router({ routesDir, hotReload: false, isolate: false })
  const error = await assertRejects(() => router.sandbox.run('export default 1'), Error)
  assertStringIncludes(error.message, 'the router has isolate: false')
})

testIsolated('a handler of a bare server runs what it is sent', async () => {
  const { Sandbox } = await import('@mayfly/mayfly/sandbox')
  await using sandbox = await Sandbox.open({ vms: 1 })
  const listening = Promise.withResolvers<number>()
  const server = Deno.serve(
    { port: 0, hostname: '127.0.0.1', onListen: ({ port }) => listening.resolve(port) },
    async (request) => Response.json((await sandbox.run(await request.text())).value),
  )
  try {
    const url = `http://127.0.0.1:${await listening.promise}/`
    const response = await fetch(url, { method: 'POST', body: 'export default [1, "two"]' })
    assertEquals(await response.json(), [1, 'two'])
  } finally {
    await server.shutdown()
  }
})

testIsolated('Hono runs what it is sent', async () => {
  const { Hono } = await import('hono')
  const { Sandbox } = await import('@mayfly/mayfly/sandbox')
  await using sandbox = await Sandbox.open({ vms: 1 })
  const app = new Hono()
  app.post('/', async (c) => c.json((await sandbox.run(await c.req.text())).value as number))
  const response = await app.request('/', { method: 'POST', body: 'export default 6 * 7' })
  assertEquals(await response.json(), 42)
})

testIsolated('the times of a response are in Server-Timing, behind those of the program itself', async () => {
  const { Sandbox } = await import('@mayfly/mayfly/sandbox')
  await using sandbox = await Sandbox.open({ vms: 1, serverTiming: true })
  const text =
    `export default { fetch: () => new Response('x', { headers: { 'server-timing': 'own;dur=1' } }) }`
  const response = await sandbox.load({ mainModule: 'a.js', modules: { 'a.js': text } }).fetch('http://a.b/')
  await response.body?.cancel()
  const entries = response.headers.get('server-timing')!.split(', ').map((entry) => entry.split(';dur='))
  assertEquals(entries.map(([name]) => name), ['own', 'sandbox-queue', 'sandbox-run'])
  assertEquals(entries.every(([, ms]) => Number(ms) >= 0) && Number(entries[2]![1]) > 0, true)
})
