import { assert, assertEquals, assertRejects } from '@std/assert'
import { Outbound } from '../../src/reach/outbound/fetch.ts'
import { toPolicy } from '../../src/reach/outbound/policy.ts'
import { MAX_WHOLE } from '../../src/reach/calls/protocol.ts'
import { hostile, join, settle } from './pair.ts'

async function withServer(work: (origin: string) => Promise<void>): Promise<void> {
  const abort = new AbortController()
  let produced = 0
  const server = Deno.serve(
    { port: 0, hostname: '127.0.0.1', onListen() {}, signal: abort.signal },
    (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/produced') return new Response(`${produced}`)
      if (pathname === '/endless') {
        return new Response(
          new ReadableStream({
            pull(controller) {
              produced += 65_536
              controller.enqueue(new Uint8Array(65_536))
            },
          }),
        )
      }
      if (pathname === '/echo') {
        return new Response(request.body, {
          headers: { 'content-type': 'text/echo' },
        })
      }
      if (pathname === '/moved') return new Response(null, { status: 307, headers: { location: '/length' } })
      if (pathname === '/length') {
        const told = request.headers.get('content-length')
        return request.text().then((text) => new Response(`${text.length} ${told}`))
      }
      return new Response('hello', { status: 203, headers: { 'x-a': 'b' } })
    },
  )
  try {
    await work(`http://127.0.0.1:${server.addr.port}`)
  } finally {
    abort.abort()
    await server.finished
  }
}

function open(origin: string, more = {}) {
  const outbound = new Outbound(toPolicy({ allow: [origin], ...more }))
  return { ...join({}, { outbound }), close: () => outbound[Symbol.asyncDispose]() }
}

Deno.test('fetch in a program is done by the host', async () => {
  await withServer(async (origin) => {
    const { fetch, end, close } = open(origin)
    const response = await fetch(`${origin}/path`)
    assertEquals([response.status, response.headers.get('x-a'), response.url, response.redirected], [
      203,
      'b',
      `${origin}/path`,
      false,
    ])
    assertEquals(await response.text(), 'hello')
    const echoed = await fetch(new Request(`${origin}/echo`, { method: 'POST', body: 'data' }))
    assertEquals(await echoed.text(), 'data')
    const large = new Uint8Array(3 << 20).map((_, at) => at % 251)
    const back = new Uint8Array(
      await (await fetch(`${origin}/echo`, { method: 'POST', body: large })).arrayBuffer(),
    )
    assertEquals(back, large)
    await assertRejects(() => fetch('https://example.com/'), TypeError, 'may not reach')
    await assertRejects(() => fetch('no url'), TypeError)
    end()
    await close()
  })
})

Deno.test('what a server answers is a stream of bytes', async () => {
  await withServer(async (origin) => {
    const { fetch, end, close } = open(origin)
    const reader = (await fetch(`${origin}/path`)).body!.getReader({ mode: 'byob' })
    const { value } = await reader.read(new Uint8Array(4))
    assertEquals(new TextDecoder().decode(value), 'hell')
    await reader.cancel()
    end()
    await close()
  })
})

Deno.test('a server is told the length of a body that was whole, which can be sent again; a stream is sent as it comes', async () => {
  await withServer(async (origin) => {
    const { fetch, end, close } = open(origin)
    const post = async (path: string, body: BodyInit) =>
      await (await fetch(origin + path, { method: 'POST', body })).text()
    const bodies = ['text', new Uint8Array(4), new Blob(['text']), new URLSearchParams({ a: 'bc' })]
    for (const body of bodies) {
      assertEquals(await post('/length', body as BodyInit), '4 4')
      assertEquals(await post('/moved', body as BodyInit), '4 4')
    }
    assertEquals(await post('/length', ''), '0 0')
    assertEquals(
      await (await fetch(new Request(`${origin}/moved`, { method: 'PUT', body: 'text' }))).text(),
      '4 4',
    )
    const slow = () =>
      ReadableStream.from((async function* () {
        for (const part of ['te', 'xt']) {
          yield new TextEncoder().encode(part)
          await settle()
        }
      })())
    assertEquals(await post('/length', slow()), '4 null')
    await assertRejects(() => post('/moved', slow()), TypeError, 'cannot be sent again')
    // Over what the host has whole.
    assertEquals(await post('/length', new Uint8Array(MAX_WHOLE + 1)), `${MAX_WHOLE + 1} null`)
    const failing = ReadableStream.from((async function* () {
      yield new Uint8Array(4)
      throw new RangeError('no more')
    })())
    await assertRejects(() => post('/length', failing), RangeError, 'no more')
    end()
    await close()
  })
})

Deno.test('a body of another length than was announced ends its fetch alone', async () => {
  const asked: string[] = []
  const { said, hear, conversation } = hostile({}, {
    outbound: async (request: Request) => {
      asked.push(await request.text())
      return new Response('x')
    },
  })
  const head = { url: 'https://x.test/', method: 'POST', headers: [], redirect: 'follow', hasBody: true }
  const lengths = [-1, 0.5, 1e9, '4', null, [4]]
  for (const [at, length] of lengths.entries()) hear(2 * at + 1, ['fetch', null, { ...head, length }])
  const few = 2 * lengths.length + 1
  hear(few, ['fetch', null, { ...head, length: 5 }])
  hear(few, ['piece'], new Uint8Array(4))
  hear(few, ['end'])
  const many = few + 2
  hear(many, ['fetch', null, { ...head, length: 3 }])
  hear(many, ['piece'], new Uint8Array(4))
  await settle()
  assertEquals(said.map(({ head }) => head[0]).filter((verb) => verb !== 'more'), [
    ...lengths.map(() => 'error'),
    'error',
    'error',
  ])
  assertEquals(asked, [])
  const right = many + 2
  hear(right, ['fetch', null, { ...head, length: 2 }])
  hear(right, ['piece'], new TextEncoder().encode('hi'))
  hear(right, ['end'])
  await settle()
  assertEquals(asked, ['hi'])
  conversation.end()
})

Deno.test('a body that nobody reads stops at the window, and one that is cancelled ends', async () => {
  await withServer(async (origin) => {
    const { fetch, end, close, conversation } = open(origin)
    const response = await fetch(`${origin}/endless`)
    const reader = response.body!.getReader()
    await reader.read()
    await settle()
    assert(conversation.use.responseBytes < 2 << 20, `${conversation.use.responseBytes}`)
    await reader.cancel()
    await settle()
    const before = Number(await (await fetch(`${origin}/produced`)).text())
    await settle()
    assertEquals(Number(await (await fetch(`${origin}/produced`)).text()), before)
    const abort = new AbortController()
    const aborted = await fetch(`${origin}/endless`, { signal: abort.signal })
    setTimeout(() => abort.abort(new Error('enough')), 10)
    await assertRejects(() => aborted.arrayBuffer(), Error, 'enough')
    end()
    await close()
  })
})

Deno.test('without outbound a fetch says what to do, and a function of the host answers in place of the network', async () => {
  const { fetch } = join({})
  await assertRejects(() => fetch('https://example.com/'), TypeError, 'outbound')
  const outbound = async (request: Request, { program }: { program: string }) =>
    new Response(`${program} ${request.method} ${request.url} ${await request.text()}`)
  const own = join({}, { outbound })
  assertEquals(
    await (await own.fetch('https://any.test/x', { method: 'PUT', body: 'b' })).text(),
    'p PUT https://any.test/x b',
  )
  const failing = join({}, {
    outbound: () => {
      throw new TypeError('not today')
    },
  })
  await assertRejects(() => failing.fetch('https://any.test/'), TypeError, 'not today')
})

Deno.test('more of a body than was asked for ends its fetch alone', async () => {
  const { said, hear, conversation } = hostile({}, {
    outbound: async (request: Request) => new Response(await request.text()),
  })
  const head = { url: 'https://x.test/', method: 'POST', headers: [], redirect: 'follow', hasBody: true }
  hear(1, ['fetch', null, head])
  for (let at = 0; at < 100; at++) hear(1, ['piece'], new Uint8Array(65_536))
  await settle()
  assertEquals(said.at(-1)!.head, ['error'])
  hear(3, ['fetch', null, { ...head, hasBody: false, method: 'GET' }])
  await settle()
  assertEquals(said.filter(({ id }) => id === 3).map(({ head }) => head[0]), ['response', 'end'])
  conversation.end()
})
