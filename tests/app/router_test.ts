import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { type LifecycleEvent, type ListenAddress, Router } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'

const ROUTES = fromFileUrl(new URL('../../benchmark/routes', import.meta.url))
const VIEWS = fromFileUrl(new URL('../../benchmark/views', import.meta.url))

Deno.test('Router answers through fetch, also unbound, and lists its routes once they are read', async () => {
  await using router = new Router({ routesDir: ROUTES, viewsDir: VIEWS })
  assertEquals(router.routes(), [])
  const { fetch } = router
  const response = await fetch(new Request('http://localhost/test'))
  assertEquals([response.status, await response.text()], [200, '{"hello":"world!"}'])
  const rows = router.routes()
  assert(rows.some(({ pattern, method }) => pattern === '/test' && method === 'GET'))
  assert(rows.some(({ pattern, isolated }) => pattern === '/test-isolated' && isolated))
  assertEquals(rows.filter(({ pattern, isolated }) => isolated !== pattern.startsWith('/test-isolated')), [])
})

Deno.test('Router.use, on, catch and static refuse what cannot be meant', () => {
  const router = new Router()
  assertThrows(() => router.use('admin', () => {}), TypeError, "'admin'")
  assertThrows(() => router.use('/a/*/b', () => {}), TypeError)
  assertThrows(() => router.use(undefined as never), TypeError, 'want a function')
  assertThrows(() => router.on('rout:*', () => {}), TypeError, 'no such event')
  assertThrows(() => router.catch('x' as never), TypeError, 'want a function')
  assertThrows(() => router.static('assets', '.'), TypeError, 'slash')
})

Deno.test('Router.ready rejects for a missing folder, and tries again when asked again', async () => {
  const folder = await Deno.makeTempDir()
  try {
    await using router = new Router({ routesDir: `${folder}/routes` })
    await assertRejects(() => router.ready(), Error, 'does not exist')
    await Deno.mkdir(`${folder}/routes`)
    await router.ready()
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('serve refuses to serve twice at a time, and serves again after its end', async () => {
  const router = new Router({ routesDir: ROUTES, viewsDir: VIEWS, hotReload: false, isolate: false })
  for (let round = 0; round < 2; round++) {
    const stop = new AbortController()
    const { promise, resolve } = Promise.withResolvers<ListenAddress>()
    const served = router.serve({ port: 0, hostname: '127.0.0.1', signal: stop.signal, onListen: resolve })
    const { port } = await promise
    await assertRejects(() => router.serve({ port: 0 }), TypeError, 'serves already')
    const response = await fetch(`http://127.0.0.1:${port}/test`)
    assertEquals(await response.json(), { hello: 'world!' })
    stop.abort()
    await served
  }
})

Deno.test('a view tells what it does to who listens', async () => {
  await using router = new Router({ routesDir: ROUTES, viewsDir: VIEWS })
  const events: LifecycleEvent[] = []
  const off = router.on('view:*', (event) => void events.push(event))
  await (await router.fetch(new Request('http://localhost/test-view'))).text()
  assertEquals(events.map(({ kind }) => kind), ['view:compiled', 'view:rendered'])
  assert(events.every(({ metadata }) => (metadata as { durationMs: number }).durationMs >= 0))
  off()
  await (await router.fetch(new Request('http://localhost/test-view'))).text()
  assertEquals(events.length, 2)
})
