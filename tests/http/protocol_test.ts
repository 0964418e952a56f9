import { assert, assertEquals } from '@std/assert'
import { checkResponse, testCases, testSite } from './cases.ts'
import { connect, exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

const site = defineSite({ requestTimeoutMs: 3000 })

/** A request as lines, with the empty line at its end. */
function lines(...parts: string[]): string {
  return `${parts.join('\r\n')}\r\n\r\n`
}

testCases('HTTP/1.1', site, [
  {
    name: 'an absolute target',
    raw: lines('GET http://other.test/users/7 HTTP/1.1', 'Host: mayfly.test', 'Connection: close'),
    status: 200,
    text: /"id":"7"/,
  },
  {
    name: 'an absolute target without a path',
    raw: lines('GET http://mayfly.test HTTP/1.1', 'Host: mayfly.test', 'Connection: close'),
    status: 200,
    text: /"index\.ts"/,
  },
  { name: 'HTTP/1.0 without Host', raw: lines('GET /users/7 HTTP/1.0'), status: 200, text: /"id":"7"/ },
  {
    name: 'a stream over HTTP/1.0 ends with the connection',
    raw: lines('GET /stream/async HTTP/1.0'),
    status: 200,
    has: { 'transfer-encoding': null },
    text: '1;2;3;',
  },
  {
    name: 'no Host',
    raw: lines('GET /users/7 HTTP/1.1', 'Connection: close'),
    status: 200,
    text: /"id":"7"/,
  },
  {
    name: 'an odd Host',
    raw: lines('GET /users/7 HTTP/1.1', 'Host: [::1', 'Connection: close'),
    status: 200,
    text: /"id":"7"/,
  },
  {
    name: 'an empty Host',
    raw: lines('GET /users/7 HTTP/1.1', 'Host:', 'Connection: close'),
    status: 200,
    text: /"id":"7"/,
  },
  {
    name: 'header names in any case',
    raw: lines('GET /set/read HTTP/1.1', 'hOsT: mayfly.test', 'COOKIE: a=1', 'connection: close'),
    status: 200,
    text: /"a":"1"/,
  },
  {
    name: 'header values are trimmed',
    raw: lines('GET /set/read HTTP/1.1', 'Host: a', 'X-List: \t a \t', 'Connection: close'),
    status: 200,
    text: /"list":"a"/,
  },
  {
    name: 'headers that repeat are joined',
    raw: lines('GET /set/read HTTP/1.1', 'Host: a', 'X-List: a', 'X-List: b', 'Connection: close'),
    status: 200,
    text: /"list":"a, b"/,
  },
  { name: 'no HTTP at all', raw: lines('hello'), status: 400 },
  { name: 'an unknown version', raw: lines('GET / HTTP/3.7', 'Host: a'), status: 400 },
  { name: 'a space in the target', raw: lines('GET /a b HTTP/1.1', 'Host: a'), status: 400 },
  { name: 'a bare word as target', raw: lines('GET methods HTTP/1.1', 'Host: a'), status: 400 },
  { name: 'a NUL in a header', raw: lines('GET / HTTP/1.1', 'Host: a', 'X: a\0b'), status: 400 },
  { name: 'a space before the colon', raw: lines('GET / HTTP/1.1', 'Host : a'), status: 400 },
  {
    name: 'two lengths',
    raw: lines('POST /body/text HTTP/1.1', 'Host: a', 'Content-Length: 1', 'Content-Length: 2') + 'ab',
    status: 400,
  },
  {
    name: 'a negative length',
    raw: lines('POST /body/text HTTP/1.1', 'Host: a', 'Content-Length: -1'),
    status: 400,
  },
  {
    name: 'a coding that is not chunked',
    raw: lines('POST /body/text HTTP/1.1', 'Host: a', 'Transfer-Encoding: gzip'),
    status: 400,
  },
  {
    name: 'a fragment in the target is no part of the path',
    raw: lines('GET /users/7#x HTTP/1.1', 'Host: a', 'Connection: close'),
    status: 200,
    text: /"id":"7"/,
  },
])

testSite('OPTIONS * answers for the server', site, async ({ address }) => {
  const [response] = await exchange(
    address,
    lines('OPTIONS * HTTP/1.1', 'Host: mayfly.test', 'Connection: close'),
  )
  checkResponse(response, { status: 204, text: '' })
})

testSite('a chunk size that is no number ends the upload', site, async ({ address }) => {
  const [response] = await exchange(
    address,
    lines('POST /body/text HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked', 'Connection: close') +
      'zz\r\n',
  )
  assert(response === undefined || response.status === 400, `status ${response?.status}`)
})

testSite('a length and chunks together are never read in two ways', site, async ({ address }) => {
  const smuggled = lines('GET /users/smuggled HTTP/1.1', 'Host: a')
  const responses = await exchange(
    address,
    lines('POST /body/text HTTP/1.1', 'Host: a', 'Content-Length: 5', 'Transfer-Encoding: chunked') +
      '0\r\n\r\n' + smuggled,
    { count: 2 },
  )
  assert(responses[0].status === 400 || responses[0].text === '""', `status ${responses[0].status}`)
})

testSite('keep-alive serves one request after the other', site, async ({ address }) => {
  using connection = await connect(address)
  for (let id = 0; id < 50; id++) {
    await connection.write(toRequest(`GET /users/${id}`, { connection: 'keep-alive' }))
    checkResponse((await connection.read())!, {
      status: 200,
      json: { file: 'users/[id].ts', params: { id: `${id}` } },
    })
  }
})

testSite('keep-alive goes on after errors', site, async ({ address }) => {
  using connection = await connect(address)
  for (
    const [path, status] of [['/throw/sync', 500], ['/nowhere', 404], ['/%zz', 400], ['/', 200]] as const
  ) {
    await connection.write(toRequest(`GET ${path}`, { connection: 'keep-alive' }))
    checkResponse((await connection.read())!, { status })
  }
})

testSite('Connection: close closes after the answer', site, async ({ address }) => {
  using connection = await connect(address)
  await connection.write(toRequest('GET /users/7'))
  checkResponse((await connection.read())!, { status: 200, has: { connection: 'close' } })
  assertEquals(await connection.isAtEnd(), true)
})

testSite('pipelined requests are answered in order, slow ones too', site, async ({ address }) => {
  using connection = await connect(address)
  const keep = { connection: 'keep-alive' }
  const paths = [
    '/users/1',
    '/wait/short',
    '/users/2',
    '/nowhere',
    '/stream/async',
    '/throw/async',
    '/users/3',
  ]
  for (const path of paths) await connection.write(toRequest(`GET ${path}`, keep))
  await connection.write(toRequest('HEAD /users/4', keep))
  await connection.write(toRequest('POST /body/text', keep, 'last'))
  const texts: string[] = []
  for (const _path of paths) texts.push((await connection.read())!.text)
  assertEquals(texts.map((text) => /"id":"(\d)"/.exec(text)?.[1] ?? text.slice(0, 8)), [
    '1',
    'in time',
    '2',
    '<!doctyp',
    '1;2;3;',
    '<!doctyp',
    '3',
  ])
  checkResponse((await connection.read('HEAD'))!, { status: 200, text: '' })
  checkResponse((await connection.read())!, { status: 200, json: 'last' })
})

testSite('Expect: 100-continue gets its 100 before the body', site, async ({ address }) => {
  using connection = await connect(address)
  await connection.write(
    lines('POST /body/text HTTP/1.1', 'Host: a', 'Content-Length: 4', 'Expect: 100-continue'),
  )
  assertEquals((await connection.read('POST', { interim: true }))!.status, 100)
  await connection.write('body')
  checkResponse((await connection.read())!, { status: 200, json: 'body' })
})

testSite('Expect: 100-continue gets its answer when nobody reads the body', site, async ({ address }) => {
  using connection = await connect(address)
  await connection.write(
    lines('POST /nowhere HTTP/1.1', 'Host: a', 'Content-Length: 4', 'Expect: 100-continue'),
  )
  assertEquals((await connection.read('POST'))!.status, 404)
})

testSite('headers beyond all measure are refused, and the server lives', site, async ({ address }) => {
  const [huge] = await exchange(address, toRequest('GET /', { 'x-huge': 'a'.repeat(2_000_000) }))
  assert(huge === undefined || huge.status === 431 || huge.status === 400, `status ${huge?.status}`)
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x-${index}`, '1']))
  const [most] = await exchange(address, toRequest('GET /', many))
  assert(most === undefined || most.status === 431 || most.status === 400, `status ${most?.status}`)
  const [alive] = await exchange(address, toRequest('GET /'))
  assertEquals(alive.status, 200)
})

testSite('a request that comes byte by byte is read', site, async ({ address }) => {
  using connection = await connect(address)
  for (const byte of toRequest('POST /body/text', {}, 'slow')) await connection.write(new Uint8Array([byte]))
  checkResponse((await connection.read())!, { status: 200, json: 'slow' })
})

testSite('a client that only connects does no harm', site, async ({ address }) => {
  const idle = await Promise.all(Array.from({ length: 20 }, () => connect(address)))
  for (const connection of idle) await connection.write('GET / HT')
  const [response] = await exchange(address, toRequest('GET /'))
  assertEquals(response.status, 200)
  for (const connection of idle) connection.close()
})
