/** WebSockets of isolated handlers, over real sockets. */
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { listen } from '../listening.ts'
import { connect, type SocketClient } from '../socket_client.ts'
import { errorsOf } from './worker_site.ts'
import { type Runtime, RUNTIMES, testIn } from './fixture.ts'

for (const runtime of RUNTIMES) {
  const test = testIn(runtime)

  test('messages pass both ways, many sockets at once, and each ends as it was closed', async () => {
    await using server = await serve(runtime)
    const before = await server.text()
    for (const by of ['deno', 'pair']) {
      const client = await server.connect(`by=${by}`)
      assertEquals(await client.next(), before.replace('request', 'hello'))
      client.socket.send('one')
      client.socket.send(new Uint8Array([1, 2, 3]))
      client.socket.send('')
      client.socket.send('later')
      assertEquals(await client.next(), 'echo one')
      assertEquals(new Uint8Array(await client.next() as ArrayBuffer), new Uint8Array([1, 2, 3]))
      assertEquals(await client.next(), 'echo ')
      assertEquals(await client.next(), 'later')
      client.socket.send('close')
      assertEquals(await client.closed, [3001, 'as asked'])
    }
    const clients = await Promise.all(Array.from({ length: 20 }, () => server.connect()))
    for (const [index, client] of clients.entries()) {
      // Each has a machine of its own, that no other has touched.
      assertEquals(await client.next(), before.replace('request', 'hello'))
      client.socket.send(`${index}`)
      client.socket.send('é'.repeat(index))
    }
    assertEquals(await server.text(), before)
    for (const [index, client] of clients.entries()) {
      assertEquals(await client.next(), `echo ${index}`)
      assertEquals(await client.next(), `echo ${'é'.repeat(index)}`)
    }
    for (const client of clients) client.socket.close(3007, 'bye')
    for (const client of clients) assertEquals(await client.closed, [3007, 'bye'])
    await server.idle()
    assertEquals(await server.text(), before)
  })

  test('messages before the socket is open, large ones and a subprotocol', async () => {
    await using server = await serve(runtime)
    const early = await server.connect('by=pair&early=yes')
    assertEquals([await early.next(), await early.next()], ['early', 'hello 1'])
    early.socket.send(new Uint8Array(1_000_000).fill(7))
    const large = new Uint8Array(await early.next() as ArrayBuffer)
    assertEquals([large.length, large[999_999]], [1_000_000, 7])
    early.socket.send('large')
    assertStringIncludes(await early.next() as string, 'RangeError: Cannot send: a message of 1048577 bytes')
    early.socket.send('close 1008')
    assertEquals(await early.closed, [1008, 'policy'])
    if (runtime === 'core') return
    const spoken = await server.connect('protocol=chat', ['other', 'chat'])
    assertEquals(spoken.socket.protocol, 'chat')
    spoken.socket.close()
  })

  test('a flood waits for its reader, and limits close the socket with a word', async () => {
    await using server = await serve(runtime)
    const flooded = await server.connect()
    flooded.socket.send('flood')
    assertStringIncludes(await flooded.next() as string, 'hello')
    let bytes = 0
    for (let text = await flooded.next() as string; text !== 'done'; text = await flooded.next() as string) {
      bytes += text.length
    }
    assertEquals(bytes, 2_400_000)
    assertEquals(await flooded.next(), 'buffered true')
    flooded.socket.close()

    const large = await server.connect()
    large.socket.send('x'.repeat((1 << 20) + 1))
    assertEquals(await large.closed, [1009, 'Over 1048576 bytes'])
    const many = await server.connect()
    for (let i = 0; i < 4; i++) many.socket.send(new Uint8Array(1_000_000))
    assertEquals(await many.closed, [1009, 'streamBytes'])
    const endless = await server.connect()
    endless.socket.send('endless')
    assertEquals(await endless.closed, [1009, 'streamBytes'])
    // Its program reads none of them.
    const unread = await server.connect()
    unread.socket.send('spin')
    for (let i = 0; i < 10_000; i++) unread.socket.send('x')
    // Deno drops the connection of a client that still sends, so the code may not arrive.
    assert([1013, 0].includes((await unread.closed)[0]))
    const silent = await server.connect()
    assertEquals(await silent.closed, [1001, 'streamIdleMs'])
    await server.idle()
    await server.told('isolate:timeout', 1)
    await server.told('isolate:crash', 2)
    assertEquals(await server.text(), 'request 1')
  })

  test('what breaks in the machine closes its socket alone, with 1011', async () => {
    await using server = await serve(runtime)
    const beside = await server.connect()
    await beside.next()
    for (const what of ['throw', 'reject', ...(runtime === 'deno' ? ['exit'] : [])]) {
      const client = await server.connect()
      client.socket.send(what)
      assertEquals(await client.closed, [1011, 'Internal error'], what)
    }
    assertEquals(await server.text(), 'request 1')
    beside.socket.send('still')
    assertEquals(await beside.next(), 'echo still')
    beside.socket.close()
    // One that works for ever is ended by the idle time.
    const spins = await server.connect()
    spins.socket.send('spin')
    assertEquals(await spins.closed, [1001, 'streamIdleMs'])
    const refused = await server.connect('what=throws-before').then(() => 'open', () => 'refused')
    assertEquals(refused, 'refused')
    assertEquals(await server.text(), 'request 1')
  })

  test('a client that vanishes frees its machine, and a shutdown says 1001', async () => {
    const server = await serve(runtime)
    for (let round = 0; round < 3; round++) {
      const connection = await server.handshake()
      assertStringIncludes(connection.head, '101 Switching Protocols')
      assertEquals(connection.head.toLowerCase().includes('x-own'), false)
      connection.close()
    }
    await server.idle()
    assertEquals(await server.text(), 'request 1')
    const client = await server.connect()
    await client.next()
    await Promise.all([server.close(), client.closed])
    assertEquals((await client.closed)[0], 1001)
  })

  test('what a client does not take waits in the machine', async () => {
    await using server = await serve(runtime)
    const told = await errorsOf(async () => {
      const connection = await server.handshake({}, '/flood')
      await server.idle()
      connection.close()
    })
    const waiting = /RangeError: (\d+) bytes wait/.exec(told.join('\n'))?.[1]
    // What left is in the kernel's buffers, and a window in the host's.
    assert(Number(waiting) > 15_000_000, told.join('\n'))
  })

  test('pages of other origins, and requests that are no handshake, get no socket', async () => {
    await using server = await serve(runtime)
    const statusOf = async (headers: Record<string, string>, path?: string) => {
      const connection = await server.handshake(headers, path)
      connection.close()
      return connection.head.split(' ')[1]
    }
    assertEquals(await statusOf({ origin: 'https://elsewhere.example' }), '403')
    assertEquals(await statusOf({ 'sec-websocket-version': '8' }), '426')
    assertEquals(await statusOf({ 'sec-websocket-key': 'short' }), '400')
    assertEquals(await statusOf({ origin: server.origin }), '101')
    await server.told('websocket:rejected', 3)
    // A route that names origins.
    const named = (origin: string) => statusOf({ origin }, '/named')
    assertEquals(await named('https://friend.example'), '101')
    assertEquals(await named('https://friend.example:8443'), '403')
    assertEquals(await named('http://friend.example'), '403')
    assertEquals(await named('https://evil.friend.example'), '403')
    assertEquals(await named(server.origin), '403')
    assertEquals(await named('null'), '403')
    assertEquals(await statusOf({}, '/named'), '403')
    const router = open(runtime)
    try {
      const headers = { upgrade: 'websocket', connection: 'Upgrade', ...HANDSHAKE }
      const response = await router.fetch(new Request('http://localhost/echo', { headers }))
      assertEquals(response.status, 500)
      await response.body?.cancel()
      assertEquals(await (await router.fetch(new Request('http://localhost/echo'))).text(), 'request 1')
    } finally {
      await router.close()
    }
  })
}

const HANDSHAKE = { 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }

/** A handshake by hand, on a connection that says nothing more. */
async function handshake(
  origin: string,
  more: Record<string, string>,
  path = '/echo',
): Promise<{ head: string; close(): void }> {
  const { hostname, port, host } = new URL(origin)
  const connection = await Deno.connect({ hostname, port: Number(port) })
  const lines = Object.entries({ host, upgrade: 'websocket', connection: 'Upgrade', ...HANDSHAKE, ...more })
  const text = `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  await connection.write(new TextEncoder().encode(text))
  const bytes = new Uint8Array(4096)
  const size = await connection.read(bytes)
  return { head: new TextDecoder().decode(bytes.subarray(0, size ?? 0)), close: () => connection.close() }
}

function open(runtime: Runtime): Router {
  return new Router({
    routesDir: fromFileUrl(new URL('./routes/sockets', import.meta.url)),
    hotReload: false,
    requestTimeoutMs: 0,
    drainMs: 3000,
    isolate: { vms: 1, runtime },
  })
}

async function serve(runtime: Runtime) {
  const router = open(runtime)
  const events: LifecycleEvent[] = []
  const count = (kind: string) => events.filter((event) => event.kind === kind).length
  /** Requests that a machine is to run. */
  let begun = 0
  router.on('isolate:*', (event) => void events.push(event))
  router.on('websocket:*', (event) => void events.push(event))
  // With `core` it is built first, which takes minutes.
  await router.ready()
  const listening = await listen((options) => router.serve(options))
  const { origin } = listening
  return {
    origin,
    connect(query = '', protocols?: string[]): Promise<SocketClient> {
      begun++
      return connect(`${origin.replace('http', 'ws')}/echo?${query}`, protocols)
    },
    handshake(more: Record<string, string> = {}, path?: string) {
      begun++
      return handshake(origin, more, path)
    },
    async text(): Promise<string> {
      begun++
      return await (await fetch(`${origin}/echo`)).text()
    },
    /** As many events of the kind came. */
    told: (kind: string, wanted: number) => until(() => count(kind) === wanted, `${wanted} ${kind}`),
    /** Every request has left its machine. */
    idle: () => until(() => count('isolate:complete') === begun, 'machines that are free'),
    close: () => listening.close(),
    [Symbol.asyncDispose]: () => listening.close(),
  }
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 60_000
  while (!holds()) {
    if (performance.now() > end) throw new Error(`It does not come: ${what}`)
    await new Promise((done) => setTimeout(done, 5))
  }
}
