import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { testCases, testSite } from './cases.ts'
import { logged } from './fixture/log.ts'
import { connect, exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

const site = defineSite()

/** Of the quiet stream of the fixture, in milliseconds. */
const KEEP_ALIVE_MS = 25

testCases('stream', site, [
  {
    name: 'from an iterable is chunked bytes',
    request: 'GET /stream/text',
    status: 200,
    has: {
      'content-type': 'application/octet-stream',
      'transfer-encoding': 'chunked',
      'content-length': null,
    },
    text: 'aü!',
  },
  {
    name: 'takes status and type',
    request: 'GET /stream/typed',
    status: 201,
    has: { 'content-type': 'text/csv' },
    text: 'a,b',
  },
  { name: 'from an async generator', request: 'GET /stream/async', status: 200, text: '1;2;3;' },
  { name: 'from a ReadableStream', request: 'GET /stream/readable', status: 200, text: 'xy' },
  { name: 'of nothing', request: 'GET /stream/empty', status: 200, text: '' },
  {
    name: 'HEAD of one has no length and no body',
    request: 'HEAD /stream/text',
    status: 200,
    has: { 'content-type': 'application/octet-stream', 'content-length': null },
  },
  {
    name: 'of server-sent events',
    request: 'GET /stream/sse',
    status: 200,
    has: { 'content-type': /^text\/event-stream/, 'cache-control': 'no-cache' },
    text: [
      'data: plain\n\n',
      'data: two\ndata: lines\ndata: three\n\n',
      'event: tick\nid: 7\nretry: 500\ndata: {"a":1}\n\n',
      ': note\n\n',
      'data: \n\n',
      'id: \n\n',
      'data: null\n\n',
    ].join(''),
  },
])

for (
  const kind of [
    'throws-at-once',
    'throws-later',
    'readable-throws',
    'native-throws',
    'bad-chunk',
    'sse-throws',
  ]
) {
  testSite(`stream: ${kind} is a broken transfer, never a clean end`, site, async ({ address }) => {
    const [response] = await exchange(address, toRequest(`GET /stream/${kind}`, { connection: 'keep-alive' }))
    if (response !== undefined) {
      assertEquals(response.status, 200)
      assertEquals(response.complete, false, `it ended cleanly with ${JSON.stringify(response.text)}`)
      assert(!response.text.includes('SECRET'))
    }
    const [next] = await exchange(address, toRequest('GET /stream/async'))
    assertEquals(next.text, '1;2;3;')
  })
}

testSite('stream: what broke it reaches the listener', site, async ({ address, errors }) => {
  errors.length = 0
  const [broken] = await exchange(address, toRequest('GET /stream/throws-later'))
  assertEquals(broken.text, '1;2;3;')
  assertEquals(errors.map(String), ['Error: SECRET in a stream'])
})

for (const field of ['event', 'id']) {
  testSite(`sse: a line break in ${field} breaks the stream, not the format`, site, async ({ address }) => {
    const [response] = await exchange(address, toRequest(`GET /stream/sse-break?field=${field}`))
    assertEquals(response.complete, false)
    assertEquals(response.text, 'data: first\n\n')
  })
}

for (const kind of ['endless', 'endless-sync', 'sse-endless']) {
  testSite(`stream: the ${kind} generator is closed when the client goes`, site, async ({ address }) => {
    const connection = await connect(address)
    await connection.write(toRequest(`GET /stream/${kind}?id=${kind}`))
    const head = await connection.readText('\r\n\r\n')
    assertMatch(head!, /^HTTP\/1\.1 200 /)
    await connection.readText('\r\n')
    connection.close()
    await logged(`closed ${kind}`)
  })
}

testSite('stream: HEAD of an endless one ends', site, async ({ address }) => {
  for (const kind of ['stream/endless', 'stream/sse-endless']) {
    const [response] = await exchange(address, toRequest(`HEAD /${kind}?id=head`), { method: 'HEAD' })
    assertEquals([response.status, response.text], [200, ''])
  }
})

testSite('sse: silence is filled with comments, and the generator closed', site, async ({ address }) => {
  const connection = await connect(address)
  const began = performance.now()
  await connection.write(toRequest('GET /stream/sse-quiet?id=quiet'))
  const text = await connection.readText('data: second\n\n')
  assertStringIncludes(text!, 'data: first\n\n')
  const comments = text!.split(': keep-alive\n\n').length - 1
  const silentMs = performance.now() - began
  assert(comments >= 1 && comments <= silentMs / KEEP_ALIVE_MS + 1, `${comments} comments in ${silentMs} ms`)
  connection.close()
  await logged('closed quiet')
})

testSite('signal() is aborted when the client goes', site, async ({ address }) => {
  const connection = await connect(address)
  await connection.write(toRequest('GET /stream/signal?id=gone'))
  await logged('waiting gone')
  connection.close()
  await logged('aborted gone')
})

testSite('stream: a slow client holds the generator back', site, async ({ address }) => {
  const connection = await connect(address)
  await connection.write(toRequest('GET /stream/endless-sync?id=slow'))
  await connection.readText('\r\n\r\n')
  const before = Deno.memoryUsage().external
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert(Deno.memoryUsage().external - before < 50e6, 'the stream ran ahead of the client')
  connection.close()
  await logged('closed slow')
})
