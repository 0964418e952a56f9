import { assertEquals, assertRejects } from '@std/assert'
import { type Address, connect, type RawConnection, toRequest } from '../http/raw_client.ts'
import { until } from '../until.ts'
import { addressOf, startChild } from './child.ts'

const SERVE = { port: 0, hostname: '127.0.0.1' }
const KEEP = { connection: 'keep-alive' }

/** A server that is told to stop by a signal is a POSIX matter. */
function testShutdown(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore: Deno.build.os === 'windows', fn })
}

/** What the clients saw until the server closed their connections. */
interface Seen {
  whole: number
  broken: number
}

/** Sends requests down one connection, `depth` at a time, until the server closes it; counts in `seen`. */
async function loadConnection(
  address: Address,
  paths: readonly string[],
  depth: number,
  seen: Seen,
): Promise<void> {
  using connection = await connect(address)
  for (let sent = 0;; sent += depth) {
    for (let i = 0; i < depth; i++) {
      if (!await connection.write(toRequest(`GET ${paths[(sent + i) % paths.length]}`, KEEP))) break
    }
    for (let i = 0; i < depth; i++) {
      const response = await connection.read().catch(() => undefined)
      if (response === undefined) return
      if (response.complete && response.status === 200 && isWhole(response.text)) seen.whole++
      else seen.broken++
    }
  }
}

function isWhole(text: string): boolean {
  return text === 'quick' || text === 'slow'.repeat(1000) || text === '0;1;2;3;4;5;6;7;8;9;'
}

for (const depth of [1, 5]) {
  testShutdown(`shutdown under load loses no accepted request, ${depth} in flight a connection`, async () => {
    await using child = startChild({ serve: SERVE, router: { drainMs: 5000 } })
    const address = await addressOf(child)
    const paths = ['/quick', '/slow?ms=15', '/quick', '/stream', '/slow?ms=40']
    const seen: Seen = { whole: 0, broken: 0 }
    const clients = Array.from({ length: 60 }, (_, index) => {
      const turned = [...paths.slice(index % paths.length), ...paths.slice(0, index % paths.length)]
      return loadConnection(address, turned, depth, seen)
    })
    // Every client is at work by then.
    await until('some rounds of answers', () => seen.whole > 5 * clients.length)
    child.kill('SIGTERM')
    await Promise.all(clients)
    assertEquals(await child.ended, 0, child.stderr())
    const { started } = await child.wait('end')
    assertEquals(seen.broken, 0, `${seen.broken} broken answers of ${started}`)
    assertEquals(seen.whole, started, 'answers that came whole, and requests that reached a handler')
    await assertRejects(() => connect(address), Deno.errors.ConnectionRefused)
  })
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  testShutdown(`${signal} ends the server with code 0 and tells server:shutdown`, async () => {
    await using child = startChild({ serve: SERVE })
    const address = await addressOf(child)
    using idle = await connect(address)
    await idle.write(toRequest('GET /quick', KEEP))
    assertEquals((await idle.read())?.text, 'quick')
    child.kill(signal)
    assertEquals(await idle.isAtEnd(), true)
    assertEquals(await child.ended, 0, child.stderr())
    const { reason, port } = await child.wait('server:shutdown')
    assertEquals([reason, port], [signal, 'port' in address ? address.port : 0])
    assertEquals(child.stderr(), '')
  })
}

testShutdown(
  'a request that is under way at shutdown gets its answer, a body that still comes too',
  async () => {
    await using child = startChild({ serve: SERVE })
    const address = await addressOf(child)
    using slow = await begin(address, 'GET /slow?ms=300&tell')
    using stream = await begin(address, 'GET /stream?tell')
    using upload = await connect(address)
    await upload.write('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc')
    for (const kind of ['slow', 'stream', 'upload']) await child.wait(kind)
    child.kill('SIGTERM')
    await child.wait('server:shutdown')
    await new Promise((resolve) => setTimeout(resolve, 50))
    await upload.write('def')
    assertEquals((await slow.read())?.text, 'slow'.repeat(1000))
    assertEquals((await stream.read())?.text, '0;1;2;3;4;5;6;7;8;9;')
    assertEquals((await upload.read())?.text, '6')
    assertEquals(await child.ended, 0, child.stderr())
  },
)

testShutdown(
  'the drain limit cuts what hangs: 503 for a handler, a broken transfer for a stream',
  async () => {
    await using child = startChild({ serve: SERVE, router: { drainMs: 250, requestTimeoutMs: 0 } })
    const address = await addressOf(child)
    using hanging = await begin(address, 'GET /hang')
    using events = await begin(address, 'GET /clock')
    await events.readText('data: 0\n\n')
    using upload = await connect(address)
    await upload.write('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc')
    for (const kind of ['hanging', 'upload']) await child.wait(kind)
    child.kill('SIGTERM')
    const [refused, rest, half] = await Promise.all([hanging.read(), drainChunks(events), upload.read()])
    assertEquals([refused?.status, half?.status], [503, 503])
    assertEquals(rest, 'broken', 'the event stream must not end cleanly')
    assertEquals(await child.ended, 0, child.stderr())
    await child.wait('aborted')
    await child.wait('closed clock')
  },
)

testShutdown('a body that nobody has read at shutdown can still be read', async () => {
  await using child = startChild({ serve: SERVE })
  const address = await addressOf(child)
  using upload = await connect(address)
  await upload.write(toRequest('POST /slow?ms=250', KEEP, 'x'.repeat(300_000)))
  await child.wait('upload')
  child.kill('SIGTERM')
  assertEquals((await upload.read())?.text, '300000')
  assertEquals(await child.ended, 0, child.stderr())
})

testShutdown('a WebSocket that comes while uploads are awaited is closed with 1001 too', async () => {
  await using child = startChild({ serve: SERVE })
  const address = await addressOf(child)
  using upload = await connect(address)
  await upload.write('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc')
  await child.wait('upload')
  child.kill('SIGTERM')
  await child.wait('server:shutdown')
  const { port } = address as { port: number }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`)
  const closed = new Promise<number>((resolve) => socket.onclose = ({ code }) => resolve(code))
  await new Promise((resolve) => socket.onopen = socket.onerror = resolve)
  await upload.write('def')
  assertEquals((await upload.read())?.text, '6')
  assertEquals(await closed, 1001)
  assertEquals(await child.ended, 0, child.stderr())
})

testShutdown('drainMs: 0 cuts at once', async () => {
  await using child = startChild({ serve: SERVE, router: { drainMs: 0 } })
  using hanging = await begin(await addressOf(child), 'GET /hang')
  await child.wait('hanging')
  child.kill('SIGTERM')
  assertEquals((await hanging.read())?.status, 503)
  assertEquals(await child.ended, 0, child.stderr())
})

testShutdown('a WebSocket is closed with 1001 at shutdown', async () => {
  await using child = startChild({ serve: SERVE })
  const { port } = await addressOf(child) as { port: number }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`)
  const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve)
  const echoed = new Promise<unknown>((resolve) => socket.onmessage = (event) => resolve(event.data))
  socket.onopen = () => socket.send('hello')
  assertEquals(await echoed, 'hello')
  child.kill('SIGTERM')
  const { code, wasClean } = await closed
  assertEquals([code, wasClean], [1001, true])
  assertEquals(await child.ended, 0, child.stderr())
})

testShutdown('a client that sends nothing does not hold up a shutdown', async () => {
  await using child = startChild({ serve: SERVE, router: { drainMs: 200 } })
  const address = await addressOf(child)
  const idle = await Promise.all([connect(address), connect(address)])
  await idle[1].write('GET /quick HTTP/1.1\r\nHost:')
  child.kill('SIGTERM')
  assertEquals(await child.ended, 0, child.stderr())
  for (const connection of idle) connection.close()
})

testShutdown('a stray rejection or timer is told and survived', async () => {
  await using child = startChild({ serve: SERVE })
  const address = await addressOf(child)
  for (const kind of ['rejection', 'timer']) {
    using connection = await begin(address, `GET /stray?kind=${kind}`)
    assertEquals((await connection.read())?.text, 'answered')
  }
  const errors = () => child.told.filter(({ kind }) => kind === 'process:error')
  await until('two errors', () => errors().length >= 2)
  assertEquals(errors().map(({ origin, error }) => [origin, error]), [
    ['unhandledrejection', 'a stray rejection'],
    ['uncaughterror', 'a stray timer'],
  ])
  using connection = await begin(address, 'GET /quick')
  assertEquals((await connection.read())?.text, 'quick')
  child.kill('SIGTERM')
  assertEquals(await child.ended, 0, child.stderr())
})

async function begin(address: Address, line: string): Promise<RawConnection> {
  const connection = await connect(address)
  await connection.write(toRequest(line, KEEP))
  return connection
}

/** Reads a stream to its end: `clean` with the last chunk, or `broken`. */
async function drainChunks(connection: RawConnection): Promise<'clean' | 'broken'> {
  for (;;) {
    const line = await connection.readText('\r\n')
    if (line === undefined) return 'broken'
    if (line === '0\r\n') return 'clean'
  }
}
