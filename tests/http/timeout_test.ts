import { assertEquals } from '@std/assert'
import { checkResponse, testCases, testSite } from './cases.ts'
import { log, logged } from './fixture/log.ts'
import { connect, exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

const site = defineSite({ requestTimeoutMs: 400 })
/** For what comes in time on a busy host, too. */
const patient = defineSite({ requestTimeoutMs: 60_000 })

testCases('requestTimeoutMs', patient, [
  { name: 'a handler in time answers', request: 'GET /wait/short', status: 200, text: 'in time' },
])

testCases('requestTimeoutMs', site, [
  {
    name: 'a handler that never ends is 504',
    request: 'GET /wait/forever',
    status: 504,
    text: /No answer within 400 ms/,
  },
  {
    name: 'the problem says so too',
    request: 'GET /wait/forever',
    headers: { accept: 'application/json' },
    status: 504,
    has: { 'content-type': 'application/problem+json' },
  },
  { name: 'HEAD is 504', request: 'HEAD /wait/forever', status: 504 },
  {
    name: 'a handler that hangs after the body is 504',
    request: 'POST /wait/body-then-forever',
    body: 'x',
    status: 504,
  },
  {
    name: 'does not count a stream that has begun',
    request: 'GET /wait/stream',
    status: 200,
    text: 'first;second',
  },
])

testSite('requestTimeoutMs: the signal is aborted with the reason', site, async ({ address }) => {
  log.length = 0
  await exchange(address, toRequest('GET /wait/forever'))
  await logged('aborted: No answer within 400 ms')
})

testSite('requestTimeoutMs: a slow body is 408 and promises to close', site, async ({ address }) => {
  for (const head of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
    using connection = await connect(address)
    await connection.write(`POST /wait/body HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n`)
    await connection.write(head.startsWith('T') ? '3\r\nabc\r\n' : 'abc')
    checkResponse((await connection.read())!, { status: 408, has: { connection: /^close/ } })
  }
})

testSite('requestTimeoutMs: a body that comes in time in pieces is read', patient, async ({ address }) => {
  using connection = await connect(address)
  await connection.write('POST /wait/body HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc')
  await new Promise((resolve) => setTimeout(resolve, 50))
  await connection.write('def')
  checkResponse((await connection.read())!, { status: 200, text: 'abcdef' })
})

testSite('requestTimeoutMs: a response that comes too late is closed unread', site, async ({ address }) => {
  const [response] = await exchange(address, toRequest('GET /wait/long'))
  assertEquals(response.status, 504)
  await new Promise((resolve) => setTimeout(resolve, 700))
  assertEquals(log.includes('late'), false)
})

testCases('requestTimeoutMs: 0', defineSite({ requestTimeoutMs: 0 }), [
  { name: 'waits', request: 'GET /wait/long', status: 200, text: 'late' },
])
