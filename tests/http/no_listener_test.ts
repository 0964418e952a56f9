/** Without a listener events cost nothing, and with one only what it reads. */
import { assert, assertEquals, assertGreater } from '@std/assert'
import { type LifecycleEvent, type RequestMetadata, Router } from '@mayfly/mayfly'
import { bytesOf, countAllocations } from './allocations.ts'
import { connect, toRequest } from './raw_client.ts'
import { fixture } from './site.ts'
import { listen } from '../listening.ts'

const REQUESTS = 1000
/** Fewer under the profiler, which is slow. */
const PROFILED = 150
const PATHS = ['/sync', '/async', '/7', '/no/where']
const BUS = ['src/events/bus.ts', 'src/events/kinds.ts', 'src/app/request_metadata.ts']

/** A way to send one request. */
type Send = (path: string) => Promise<void>

function makeRouter(): Router {
  return new Router({ routesDir: fixture('plain'), hotReload: false })
}

function inProcess(router: Router): Send {
  return async (path) => {
    const response = await router.fetch(new Request(`http://mayfly.test${path}`))
    await response.body?.cancel()
  }
}

/** Calls `run` with a way to send requests over one connection of a server. */
async function overSocket(router: Router, run: (send: Send) => Promise<void>): Promise<void> {
  await using server = await listen((options) => router.serve(options))
  using connection = await connect(server.address)
  await run(async (path) => {
    await connection.write(toRequest(`GET ${path}`, { connection: 'keep-alive' }))
    assert(await connection.read() !== undefined)
  })
}

/** Counts the reads of either clock while `run` runs. */
async function countClockReads(run: () => Promise<void>): Promise<{ date: number; performance: number }> {
  const reads = { date: 0, performance: 0 }
  const { now: dateNow } = Date
  const performanceNow = performance.now
  Date.now = () => {
    reads.date++
    return dateNow()
  }
  performance.now = () => {
    reads.performance++
    return performanceNow.call(performance)
  }
  try {
    await run()
  } finally {
    Date.now = dateNow
    performance.now = performanceNow
  }
  return reads
}

async function sendAll(send: Send, path: string, count = REQUESTS): Promise<void> {
  for (let i = 0; i < count; i++) await send(path)
}

for (const path of PATHS) {
  Deno.test(`no listener: ${path} in process reads no clock`, async () => {
    await using router = makeRouter()
    const send = inProcess(router)
    await send(path)
    assertEquals(await countClockReads(() => sendAll(send, path)), { date: 0, performance: 0 })
  })

  Deno.test(`no listener: ${path} makes the bus allocate nothing`, async () => {
    await using router = makeRouter()
    router.on('server:*', () => {})
    const send = inProcess(router)
    await sendAll(send, path)
    const without = await countAllocations(() => sendAll(send, path, PROFILED))
    assertEquals(bytesOf(without, ...BUS), 0)
    assertGreater(bytesOf(without, 'src/app/pipeline.ts'), 0, 'the profiler sees nothing')
    const stop = router.on('request:*', () => {})
    const withOne = await countAllocations(() => sendAll(send, path, PROFILED))
    assertGreater(bytesOf(withOne, 'src/events/bus.ts', 'src/app/finish.ts'), PROFILED * 16)
    stop()
    await sendAll(send, path)
    const after = await countAllocations(() => sendAll(send, path, PROFILED))
    assertEquals(bytesOf(after, ...BUS), 0, 'after the listener left')
  })
}

Deno.test({
  name: 'no listener: over a socket no clock is read and the bus allocates nothing',
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const router = makeRouter()
    await overSocket(router, async (send) => {
      for (const path of ['/sync', '/async', '/no/where']) {
        await send(path)
        assertEquals(await countClockReads(() => sendAll(send, path)), { date: 0, performance: 0 }, path)
        const allocations = await countAllocations(() => sendAll(send, path, PROFILED))
        assertEquals(bytesOf(allocations, ...BUS), 0, path)
        assertGreater(bytesOf(allocations, 'src/app/pipeline.ts'), 0, 'the profiler sees nothing')
      }
    })
  },
})

Deno.test('no listener: a listener of another kind costs a request nothing', async () => {
  await using router = makeRouter()
  for (const pattern of ['server:*', 'route:*', 'view:*', 'worker:*', 'process:error'] as const) {
    router.on(pattern, () => {})
  }
  const send = inProcess(router)
  await send('/sync')
  assertEquals(await countClockReads(() => sendAll(send, '/sync')), { date: 0, performance: 0 })
})

Deno.test('an empty listener: one event object and one read of each clock a request', async () => {
  await using router = makeRouter()
  const send = inProcess(router)
  await send('/sync')
  let events = 0
  router.on('request:*', () => void events++)
  assertEquals(await countClockReads(() => sendAll(send, '/sync')), {
    date: REQUESTS,
    performance: REQUESTS,
  })
  assertEquals(events, REQUESTS)
  const failed = await countClockReads(() => sendAll(send, '/no/where'))
  assertEquals(failed, { date: 2 * REQUESTS, performance: REQUESTS })
  assertEquals(events, 3 * REQUESTS)
})

/** A request, its peer and a native response that count who looks at them. */
function makeWitness(): {
  request: Request
  peer: { remoteAddr: Deno.NetAddr }
  looks: Record<string, number>
} {
  const looks = { headers: 0, peer: 0, random: 0 }
  const request = new Request('http://mayfly.test/sync?secret=1', { headers: { 'user-agent': 'witness' } })
  const { headers } = request
  Object.defineProperty(request, 'headers', {
    get() {
      looks.headers++
      return headers
    },
  })
  const peer = {
    get remoteAddr() {
      looks.peer++
      return { transport: 'tcp' as const, hostname: '203.0.113.7', port: 4000 }
    },
  }
  return { request, peer, looks }
}

Deno.test('an empty listener: no field that is not read is computed', async () => {
  await using router = makeRouter()
  await router.ready()
  const kept: LifecycleEvent<'request:complete'>[] = []
  router.on('request:complete', (event) => void kept.push(event))
  const { request, peer, looks } = makeWitness()
  const { getRandomValues } = crypto
  const { random } = Math
  crypto.getRandomValues = <T extends ArrayBufferView>(array: T): T => {
    looks.random++
    return getRandomValues.call(crypto, array as unknown as Uint8Array<ArrayBuffer>) as unknown as T
  }
  Math.random = () => {
    looks.random++
    return random()
  }
  try {
    await router.fetch(request, peer)
    assertEquals(looks, { headers: 0, peer: 0, random: 0 })
    const { metadata } = kept[0]
    assertEquals([metadata.method, metadata.status, metadata.route], ['GET', 200, '/sync'])
    assertEquals(looks, { headers: 0, peer: 0, random: 0 })
    assertEquals(metadata.ip, '203.0.113.7')
    assertGreater(looks.peer, 0)
    assertEquals(looks.headers, 0)
    assertEquals(metadata.userAgent, 'witness')
    assertGreater(looks.headers, 0)
    assertEquals(looks.random, 0)
    assertEquals(metadata.id.length, 26)
    assertGreater(looks.random, 0)
    assertEquals(metadata.id, metadata.id)
  } finally {
    crypto.getRandomValues = getRandomValues
    Math.random = random
  }
})

Deno.test('request:complete and request:error tell what happened', async () => {
  await using router = new Router({ routesDir: fixture('plain'), hotReload: false })
  const told: [string, RequestMetadata][] = []
  router.on((event) => {
    if (event.kind === 'request:complete' || event.kind === 'request:error') {
      told.push([event.kind, event.metadata])
    }
  })
  await router.fetch(new Request('http://mayfly.test/7?token=x'))
  await router.fetch(
    new Request('http://mayfly.test/nowhere/x', {
      method: 'POST',
      body: 'abc',
      headers: { 'content-length': '3' },
    }),
  )
  assertEquals(told.map(([kind]) => kind), ['request:complete', 'request:complete', 'request:error'])
  const [, first] = told[0]
  assertEquals([first.url, first.route, first.isolated, first.error], [
    '/7',
    '/[id]',
    false,
    undefined,
  ])
  assertEquals([first.requestSize, first.ip], [0, undefined])
  assert(first.durationMs >= 0 && first.durationMs < 10_000)
  const [, second] = told[2]
  assertEquals([second.method, second.status, second.route, second.requestSize], ['POST', 404, undefined, 3])
  assertEquals(String(second.error), 'HttpError: Not Found')
  assertEquals(second, told[1][1])
})
