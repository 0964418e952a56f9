/** What the host fetches over TLS: HTTP/2 where the server has it, HTTP/1.1 where it has not, certificates checked against the name. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest } from 'node:http2'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Outbound, OutboundError, type OutboundRequest } from '../../src/reach/outbound/fetch.ts'
import { toPolicy } from '../../src/reach/outbound/policy.ts'
import { makeCertificate } from '../certificate.ts'

const certificate = await makeCertificate()
if (certificate === null) {
  console.warn('SKIPPED: tests/reach/transport_test.ts: no openssl here')
}
const SECRET = 'Bearer tok-over-tls-4711'

/** Says what it was asked, by which version of HTTP. */
async function answer(
  request: Http2ServerRequest,
  response: { setHeader(name: string, value: string): void; end(text?: string | Uint8Array): void },
): Promise<void> {
  let text = ''
  for await (const chunk of request) text += chunk
  const { headers, httpVersion, method, url } = request
  response.setHeader('x-authorized', `${headers['authorization'] === SECRET}`)
  if (url === '/echo') return response.end(headers['authorization'])
  if (url === '/gzip') {
    response.setHeader('content-encoding', 'gzip')
    return response.end(gzipSync('x'.repeat(100_000)))
  }
  if (url === '/bomb') {
    response.setHeader('content-encoding', 'gzip')
    return response.end(gzipSync(new Uint8Array(16 << 20)))
  }
  response.end(`${httpVersion} ${method} ${url} ${text.length} ${headers['content-length'] ?? 'streamed'}`)
}

async function withServer(
  server: Http2SecureServer | Server,
  work: (ask: ReturnType<typeof open>['ask'], port: number, sessions: () => number) => Promise<void>,
): Promise<void> {
  let sessions = 0
  server.on('secureConnection', () => sessions++)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  try {
    await using opened = open(port, certificate!.cert)
    await work(opened.ask, port, () => sessions)
  } finally {
    server.close()
  }
}

function open(port: number, ca?: string, host = 'localhost') {
  const policy = toPolicy({
    allow: [`${host}:${port}`],
    headers: { [`${host}:${port}`]: { authorization: () => SECRET } },
    addresses: ['127.0.0.1'],
    responseBytes: 1 << 20,
  })
  const outbound = new Outbound(policy, {
    resolve: () => Promise.resolve(['127.0.0.1']),
    ...(ca === undefined ? {} : { ca }),
  })
  const ask = async (path: string, more: Partial<OutboundRequest> = {}) => {
    const use = { subRequests: 0, requestBytes: 0, responseBytes: 0 }
    const { status, headers, body } = await outbound.fetch({
      url: `https://${host}:${port}${path}`,
      method: 'GET',
      headers: [],
      body: null,
      redirect: 'follow',
      signal: AbortSignal.timeout(20_000),
      ...more,
    }, use)
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true })
    return { status, authorized: new Headers(headers as [string, string][]).get('x-authorized'), text }
  }
  return { ask, [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose]() }
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < 4; at++) yield new TextEncoder().encode('x'.repeat(70_000))
}

function testTls(name: string, fn: () => Promise<void>): void {
  // Connections of node:http2 end when their server does, not with the test.
  Deno.test({ name, ignore: certificate === null, sanitizeOps: false, sanitizeResources: false, fn })
}

testTls('a server that has HTTP/2 is asked by it, over a connection that is kept', async () => {
  const { cert, key } = certificate!
  await withServer(
    createSecureServer({ cert, key, allowHTTP1: true }, answer as never),
    async (ask, _, sessions) => {
      assertEquals(await ask('/a'), { status: 200, authorized: 'true', text: '2.0 GET /a 0 streamed' })
      const body = new TextEncoder().encode('text')
      // What belongs to a connection of HTTP/1.1 is no header of HTTP/2, and would end the stream.
      const headers = [['connection', 'keep-alive'], ['host', 'other.test'], ['te', 'gzip']] as const
      assertEquals((await ask('/b', { method: 'POST', body, headers })).text, '2.0 POST /b 4 4')
      assertEquals((await ask('/c', { method: 'PUT', body: pieces() })).text, '2.0 PUT /c 280000 streamed')
      assertEquals(sessions(), 1)
      const many = await Promise.all(Array.from({ length: 20 }, (_, at) => ask(`/${at}`)))
      assertEquals(many.map(({ text }) => text), many.map((_, at) => `2.0 GET /${at} 0 streamed`))
    },
  )
})

testTls('over HTTP/2 bodies are decompressed and bounded, and no secret comes back', async () => {
  const { cert, key } = certificate!
  await withServer(createSecureServer({ cert, key }, answer as never), async (ask) => {
    assertEquals((await ask('/gzip')).text.length, 100_000)
    await assertRejects(() => ask('/bomb'), OutboundError, 'responseBytes')
    const error = await assertRejects(() => ask('/echo'), OutboundError, 'what the host added')
    assert(!Deno.inspect(error).includes(SECRET))
    assertEquals((await ask('/still')).status, 200)
  })
})

testTls('a server without HTTP/2 is asked by HTTP/1.1', async () => {
  const { cert, key } = certificate!
  await withServer(createServer({ cert, key }, answer as never), async (ask) => {
    const body = new TextEncoder().encode('text')
    assertEquals((await ask('/a', { method: 'POST', body })).text, '1.1 POST /a 4 4')
    assertEquals((await ask('/b', { method: 'POST', body: pieces() })).text, '1.1 POST /b 280000 streamed')
  })
})

testTls(
  'a certificate of nobody known, or of another name, ends the fetch before the secret is sent',
  async () => {
    const { cert, key } = certificate!
    let asked = 0
    const server = createSecureServer({ cert, key, allowHTTP1: true }, () => asked++)
    await withServer(server, async (_, port) => {
      await using unknown = open(port)
      await assertRejects(() => unknown.ask('/'), OutboundError, 'not to be trusted')
      await using other = open(port, cert, 'other.test')
      await assertRejects(() => other.ask('/'), OutboundError, 'not to be trusted')
      assertEquals(asked, 0)
    })
  },
)
