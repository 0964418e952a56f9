import { type Context, type LifecycleEvent, websocket, type WebSocketOptions } from '@mayfly/mayfly'
import { assert, assertEquals, assertMatch } from '@std/assert'
import { chooseProtocol } from '../../src/context/websocket_handshake.ts'
import { assertRefused, makeSite } from './site.ts'
import { listen } from '../listening.ts'

interface Served {
  readonly port: number
  readonly events: LifecycleEvent[]
  readonly stop: () => Promise<void>
}

/** Serves the fixture with `websocket(options)` at /socket. */
async function serve(options: WebSocketOptions, setup: { drainMs?: number } = {}): Promise<Served> {
  const { router, events } = makeSite([], { drainMs: 500, ...setup })
  router.use('/socket', websocket(options))
  const { address, close } = await listen((options) => router.serve(options))
  return { port: address.port, events, stop: close }
}

async function withServer(options: WebSocketOptions, run: (served: Served) => Promise<void>): Promise<void> {
  const served = await serve(options)
  try {
    await run(served)
  } finally {
    await served.stop()
  }
}

/** The next event of one kind. */
function next<K extends keyof WebSocketEventMap>(socket: WebSocket, kind: K): Promise<WebSocketEventMap[K]> {
  return new Promise((resolve) => socket.addEventListener(kind, resolve, { once: true }))
}

async function open(port: number, path = '/socket', protocols: string[] = []): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols)
  socket.binaryType = 'arraybuffer'
  await next(socket, 'open')
  return socket
}

async function close(socket: WebSocket): Promise<CloseEvent> {
  const closed = next(socket, 'close')
  if (socket.readyState === WebSocket.OPEN) socket.close(1000, 'bye')
  return await closed
}

const HANDSHAKE = {
  Upgrade: 'websocket',
  Connection: 'keep-alive, Upgrade',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** Sends a request by hand and gives the head of the answer: status and headers in lower case. */
async function handshake(
  port: number,
  headers: Record<string, string | undefined> = {},
  method = 'GET',
): Promise<{ status: number; head: string }> {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...HANDSHAKE, ...headers })
    .filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}`)
  using connection = await Deno.connect({ hostname: '127.0.0.1', port })
  await connection.write(
    new TextEncoder().encode([`${method} /socket HTTP/1.1`, ...lines, '', ''].join('\r\n')),
  )
  let text = ''
  const buffer = new Uint8Array(4096)
  while (!text.includes('\r\n\r\n')) {
    const size = await connection.read(buffer)
    if (size === null) break
    text += new TextDecoder().decode(buffer.subarray(0, size))
  }
  const head = text.split('\r\n\r\n')[0]
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase() }
}

Deno.test('websocket carries text and bytes both ways, and tells of each step with the context', async () => {
  const steps: string[] = []
  const ended = Promise.withResolvers<void>()
  const options: WebSocketOptions = {
    onConnect: (socket, event, ctx) => {
      steps.push(`${event.type} ${ctx.get.query('name')}`)
      socket.send('welcome')
    },
    onMessage: (socket, event) => socket.send(event.data),
    onDisconnect: (_socket, event) => {
      steps.push(`${event.type} ${event.code} ${event.reason}`)
      ended.resolve()
    },
  }
  await withServer(options, async ({ port }) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/socket/room?name=ada`)
    socket.binaryType = 'arraybuffer'
    assertEquals((await next(socket, 'message')).data, 'welcome')
    socket.send('häll💡')
    assertEquals((await next(socket, 'message')).data, 'häll💡')
    socket.send(new Uint8Array([1, 2, 255]))
    assertEquals(new Uint8Array((await next(socket, 'message')).data), new Uint8Array([1, 2, 255]))
    await close(socket)
    await ended.promise
    assertEquals(steps, ['open ada', 'close 1000 bye'])
  })
})

Deno.test('websocket works as a route handler', async () => {
  await withServer({}, async ({ port }) => {
    const socket = await open(port, '/ws')
    socket.send('x')
    assertEquals((await next(socket, 'message')).data, 'route: x')
    await close(socket)
  })
})

Deno.test('websocket answers 426 to a plain request', async () => {
  const { ask, only, router } = makeSite([])
  router.use('/socket', websocket())
  const response = await ask('/socket')
  assertEquals(response.status, 426)
  assertEquals(response.headers.get('upgrade'), 'websocket')
  assertEquals({ ...only('websocket:rejected') }, { reason: 'no upgrade', status: 426, origin: undefined })
  assertEquals((await ask('/socket', { method: 'POST' })).status, 405)
})

Deno.test('websocket with a listener lets other paths pass', async () => {
  const { ask } = makeSite([websocket({ listener: '/live/' })])
  assertEquals(
    await Promise.all(['/', '/livery', '/live', '/live/a'].map(async (path) => (await ask(path)).status)),
    [
      200,
      404,
      426,
      426,
    ],
  )
})

Deno.test('websocket completes a handshake by RFC 6455', async () => {
  await withServer({}, async ({ port }) => {
    const { status, head } = await handshake(port)
    assertEquals(status, 101)
    assertMatch(head, /sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk\+xoo=/)
  })
})

for (
  const [what, headers, status, reason] of [
    ['an old version', { 'Sec-WebSocket-Version': '8' }, 426, 'version'],
    ['no version', { 'Sec-WebSocket-Version': undefined }, 426, 'version'],
    ['no key', { 'Sec-WebSocket-Key': undefined }, 400, 'key'],
    ['a short key', { 'Sec-WebSocket-Key': 'YWJj' }, 400, 'key'],
    ['a key that is no base64', { 'Sec-WebSocket-Key': '!'.repeat(24) }, 400, 'key'],
    ['another upgrade', { Upgrade: 'h2c' }, 426, 'no upgrade'],
    ['no Connection: Upgrade', { Connection: 'keep-alive' }, 426, 'no upgrade'],
    ["another site's page", { Origin: 'https://evil.example' }, 403, 'origin'],
    ['a page of another port', { Origin: 'http://127.0.0.1:1' }, 403, 'origin'],
    ['the origin null', { Origin: 'null' }, 403, 'origin'],
  ] as const
) {
  Deno.test(`websocket answers ${status} to ${what}`, async () => {
    await withServer({}, async ({ port, events }) => {
      const answer = await handshake(port, headers)
      assertEquals(answer.status, status)
      if (status === 426) assertMatch(answer.head, /upgrade: websocket/)
      if (reason === 'version') assertMatch(answer.head, /sec-websocket-version: 13/)
      const rejected = events.filter(({ kind }) => kind === 'websocket:rejected')
      assertEquals(rejected.map(({ metadata }) => (metadata as { reason: string }).reason), [reason])
    })
  })
}

Deno.test('websocket takes pages of the own origin', async () => {
  await withServer({}, async ({ port }) => {
    assertEquals((await handshake(port, { Origin: `http://127.0.0.1:${port}` })).status, 101)
  })
})

Deno.test('websocket takes the origins that are named, and then no client without one', async () => {
  await withServer({ allowedOrigins: ['https://app.example'] }, async ({ port }) => {
    assertEquals((await handshake(port, { Origin: 'https://app.example' })).status, 101)
    assertEquals((await handshake(port, { Origin: `http://127.0.0.1:${port}` })).status, 403)
    assertEquals((await handshake(port)).status, 403)
  })
  await withServer({ allowedOrigins: '*' }, async ({ port }) => {
    assertEquals((await handshake(port, { Origin: 'https://any.example' })).status, 101)
    assertEquals((await handshake(port)).status, 101)
  })
})

Deno.test('websocket agrees on the first subprotocol of the client that it speaks', async () => {
  await withServer({ protocols: ['chat.v1', 'chat.v2'] }, async ({ port, events }) => {
    const socket = await open(port, '/socket', ['other', 'chat.v2', 'chat.v1'])
    assertEquals(socket.protocol, 'chat.v2')
    await close(socket)
    assertEquals((await handshake(port, { 'Sec-WebSocket-Protocol': 'other' })).status, 400)
    assertEquals((await handshake(port)).status, 101)
    const reasons = events.filter(({ kind }) => kind === 'websocket:rejected')
    assertEquals(reasons.map(({ metadata }) => (metadata as { reason: string }).reason), ['protocol'])
  })
})

for (
  const [asked, chosen] of [
    [undefined, undefined],
    ['a', 'a'],
    ['x, b ,a', 'b'],
    ['x', null],
    ['', null],
  ] as const
) {
  Deno.test(`chooseProtocol reads "${asked}" as ${chosen}`, () => {
    assertEquals(chooseProtocol(asked, ['a', 'b']), chosen)
  })
}

Deno.test('websocket closes with 1009 what is too large, counted in bytes, and hands on the rest', async () => {
  const got: number[] = []
  const options: WebSocketOptions = {
    maxMessageBytes: 9,
    onMessage: (socket, event) => {
      got.push(typeof event.data === 'string' ? event.data.length : event.data.byteLength)
      socket.send('ok')
    },
  }
  await withServer(options, async ({ port }) => {
    for (const message of ['ééééé', '0123456789', new Uint8Array(10)]) {
      const socket = await open(port)
      socket.send('éééé1')
      await next(socket, 'message')
      const closed = next(socket, 'close')
      socket.send(message)
      assertEquals((await closed).code, 1009)
    }
    assertEquals(got, [5, 5, 5])
  })
})

Deno.test('websocket gives what a callback throws to onError and closes with 1011', async () => {
  const errors: string[] = []
  const fail = (_socket: WebSocket, _event: Event, _ctx: Context) => {
    throw new Error('a bug')
  }
  const onError: WebSocketOptions['onError'] = (_socket, event) => {
    assert(event instanceof ErrorEvent)
    errors.push(event.error.message)
  }
  for (
    const options of [{ onConnect: fail }, { onMessage: fail }, {
      onMessage: () => Promise.reject(new Error('a bug')),
    }]
  ) {
    await withServer({ ...options, onError }, async ({ port }) => {
      const socket = await open(port)
      const closed = next(socket, 'close')
      socket.send('x')
      assertEquals((await closed).code, 1011)
    })
  }
  assertEquals(errors, ['a bug', 'a bug', 'a bug'])
})

Deno.test('websocket survives an onError that throws, and says so on stderr', async () => {
  const said: unknown[][] = []
  const before = console.error
  console.error = (...parts: unknown[]) => said.push(parts)
  try {
    const boom = () => {
      throw new Error('twice')
    }
    await withServer({ onMessage: boom, onError: boom }, async ({ port }) => {
      const socket = await open(port)
      const closed = next(socket, 'close')
      socket.send('x')
      assertEquals((await closed).code, 1011)
      assertEquals((await handshake(port)).status, 101)
    })
  } finally {
    console.error = before
  }
  assertMatch(String(said[0][0]), /a callback of the WebSocket at \/socket failed/)
})

Deno.test('websocket sockets are closed with 1001 at shutdown', async () => {
  const { port, stop } = await serve({})
  const socket = await open(port)
  const closed = next(socket, 'close')
  await stop()
  assertEquals((await closed).code, 1001)
})

Deno.test('websocket checks its options', () => {
  assertRefused(
    () => websocket({ onMessage: 1 as never }),
    TypeError,
    'Cannot make websocket: onMessage is 1',
  )
  assertRefused(
    () => websocket({ allowedOrigins: 'app.example' }),
    TypeError,
    'allowedOrigins is "app.example"',
    '"*"',
  )
  assertRefused(() => websocket({ protocols: ['a b'] }), TypeError, 'protocols is [ "a b" ]')
  assertRefused(() => websocket({ maxMessageBytes: 0 }), RangeError, 'maxMessageBytes is 0')
  assertRefused(() => websocket({ idleTimeoutMs: -1 }), RangeError, 'idleTimeoutMs is -1')
  assertRefused(() => websocket({ listener: 'live' }), TypeError, 'listener is "live", want a path')
})
