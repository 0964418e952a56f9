/** WebSockets of sandbox programs, over real sockets. */
import { assert, assertEquals } from '@std/assert'
import { Sandbox, type SandboxCode, type SandboxWorker } from '@mayfly/mayfly/sandbox'
import { connect } from '../socket_client.ts'
import { inEachSandbox } from './fixture.ts'

const program = (runtime: 'deno' | 'core', more: Partial<SandboxCode> = {}): SandboxCode => ({
  mainModule: 'main.js',
  modules: {
    'main.js': `
      globalThis.requests = 0
      function upgrade(request) {
        if (${runtime === 'deno'}) return Deno.upgradeWebSocket(request)
        const [client, socket] = Object.values(new WebSocketPair())
        socket.accept()
        return { socket, response: new Response(null, { status: 101, webSocket: client }) }
      }
      export default {
        fetch(request, env) {
          const mine = ++globalThis.requests
          if (request.headers.get('upgrade') === null) return new Response('request ' + mine)
          const { socket, response } = upgrade(request)
          socket.binaryType = 'arraybuffer'
          socket.onmessage = async ({ data }) => {
            if (data === 'throw') throw new RangeError('a listener broke')
            if (data === 'count') return socket.send('request ' + mine)
            if (data === 'ask') return socket.send('the host says ' + await env.ASK('now'))
            if (data === 'close') return socket.close(3001, 'as asked')
            socket.send(data)
          }
          return response
        },
      }
    `,
  },
  ...more,
})

/** A server whose requests the program answers. */
async function withServer(
  worker: SandboxWorker,
  run: (origin: string, told: unknown[]) => Promise<void>,
): Promise<void> {
  const told: unknown[] = []
  await using server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, async (request) => {
    try {
      return await worker.fetch(request)
    } catch (error) {
      told.push(error)
      return new Response('refused', { status: 502 })
    }
  })
  await run(`ws://127.0.0.1:${server.addr.port}/`, told)
}

inEachSandbox({}, ({ test, sandbox, runtime }) => {
  test('a program has a socket, calls the host beside it, and the next one meets a clean machine', async () => {
    const env = { ASK: (what: string) => `it is ${what}` }
    await withServer(sandbox().get('echo', program(runtime, { env })), async (origin) => {
      const clients = await Promise.all(Array.from({ length: 5 }, () => connect(origin)))
      for (const client of clients) {
        client.socket.send('count')
        assertEquals(await client.next(), 'request 1')
        client.socket.send(new Uint8Array([7, 8]))
        assertEquals(new Uint8Array(await client.next() as ArrayBuffer), new Uint8Array([7, 8]))
        client.socket.send('ask')
        assertEquals(await client.next(), 'the host says it is now')
        client.socket.send('close')
        assertEquals(await client.closed, [3001, 'as asked'])
      }
      assertEquals(await (await fetch(origin.replace('ws', 'http'))).text(), 'request 1')
    })
  })

  test('a listener that throws closes with 1011, silence with 1001, much with 1009', async () => {
    const limits = { streamIdleMs: 300, streamBytes: 1000 }
    await withServer(sandbox().load(program(runtime, { limits })), async (origin) => {
      const throws = await connect(origin)
      throws.socket.send('throw')
      assertEquals(await throws.closed, [1011, 'Internal error'])
      const silent = await connect(origin)
      assertEquals(await silent.closed, [1001, 'streamIdleMs'])
      const much = await connect(origin)
      much.socket.send('x'.repeat(1001))
      assertEquals(await much.closed, [1009, 'streamBytes'])
    })
  })

  test('a kept program keeps its state behind a socket, and a request that is no handshake is refused', async () => {
    const kept = sandbox().get('kept echo', program(runtime), { ephemeral: false })
    await withServer(kept, async (origin, told) => {
      for (const count of [1, 2]) {
        const client = await connect(origin)
        client.socket.send('count')
        assertEquals(await client.next(), `request ${count}`)
        client.socket.close(1000)
        await client.closed
      }
      assertEquals(told, [])
    })
    const headers = { upgrade: 'websocket' }
    const refused = await kept.fetch('http://localhost/', { headers }).then(() => null, (error) => error)
    assert(refused instanceof Error && refused.message.includes('connect by ws'), Deno.inspect(refused))
  })

  test('a sandbox that closes says 1001', async () => {
    const own = await Sandbox.open({ vms: 1, runtime })
    await withServer(own.load(program(runtime)), async (origin) => {
      const client = await connect(origin)
      client.socket.send('count')
      assertEquals(await client.next(), 'request 1')
      await own.close()
      assertEquals(await client.closed, [1001, 'The sandbox is closing'])
    })
  })
})
