import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { checkResponse, testSite } from './cases.ts'
import { connect, exchange, toRequest } from './raw_client.ts'
import { defineSite, startSite } from './site.ts'
import { makeCertificate } from '../certificate.ts'

const certificate = await makeCertificate()
if (certificate === null) {
  console.warn('tests/http/transport_test.ts: no openssl here, the TLS tests are skipped')
}

Deno.test({
  name: 'serve({ cert, key }) speaks TLS, HTTP/1.1 and HTTP/2',
  ignore: certificate === null,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { cert, key } = certificate!
    const site = await startSite({ serve: { cert, key } })
    const origin = `https://localhost:${site.address.port}`
    const client = Deno.createHttpClient({ caCerts: [cert], http1: false, http2: true })
    const plain = Deno.createHttpClient({ caCerts: [cert], http1: true, http2: false })
    try {
      for (const caller of [client, plain]) {
        const response = await fetch(`${origin}/url?a=1`, { client: caller })
        const seen = await response.json()
        assertEquals([seen.url, seen.pathname, seen.a], [`${origin}/url?a=1`, '/url', '1'])
        const refused = await fetch(`${origin}/put_only`, { client: caller })
        assertEquals([refused.status, refused.headers.get('allow')], [405, 'OPTIONS, PUT'])
        await refused.body?.cancel()
        const large = await fetch(`${origin}/body/text`, {
          method: 'POST',
          body: 'x'.repeat(2 ** 20 + 1),
          client: caller,
        })
        assertEquals(large.status, 413)
        await large.body?.cancel()
        const streamed = await fetch(`${origin}/stream/async`, { client: caller })
        assertEquals(await streamed.text(), '1;2;3;')
        const broken = await fetch(`${origin}/stream/throws-later`, { client: caller })
        await assertRejects(() => broken.text())
        const head = await fetch(`${origin}/send/big`, { method: 'HEAD', client: caller })
        assertEquals([head.headers.get('content-length'), await head.text()], ['1000000', ''])
      }
      const many = await Promise.all(
        Array.from({ length: 100 }, async (_, id) => {
          const response = await fetch(`${origin}/users/${id}`, { client })
          return (await response.json()).params.id
        }),
      )
      assertEquals(many, Array.from({ length: 100 }, (_, id) => `${id}`))
      using raw = await connect(site.address, { caCerts: [cert] })
      await raw.write(toRequest('GET /users/../methods'))
      checkResponse((await raw.read())!, { status: 200, text: /methods\.ts/ })
    } finally {
      client.close()
      plain.close()
      await site.close()
    }
  },
})

Deno.test({
  name: 'a client that agrees on h2 gets HTTP/2, and one that speaks plain text over TLS nothing',
  ignore: certificate === null,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { cert, key } = certificate!
    const site = await startSite({ serve: { cert, key } })
    try {
      const { port } = site.address
      const options = { hostname: 'localhost', port, caCerts: [cert], alpnProtocols: ['h2', 'http/1.1'] }
      using conn = await Deno.connectTls(options)
      assertEquals((await conn.handshake()).alpnProtocol, 'h2')
      const [plain] = await exchange(site.address, toRequest('GET /'))
      assert(plain === undefined, 'an answer without TLS')
    } finally {
      await site.close()
    }
  },
})

if (Deno.build.os !== 'windows') {
  const dir = await Deno.makeTempDir()
  const path = `${dir}/mayfly.sock`
  Deno.test.afterAll(() => Deno.remove(dir, { recursive: true }))
  const site = defineSite({ serve: { path }, trustProxy: true })

  testSite('serve({ path }) listens on a Unix socket', site, async ({ address }) => {
    assertEquals(address, { hostname: '', port: 0, path })
    const [response] = await exchange({ path }, toRequest('GET /users/7'))
    checkResponse(response, { status: 200, json: { file: 'users/[id].ts', params: { id: '7' } } })
    const [url] = await exchange({ path }, toRequest('GET /url?a=1'))
    assertStringIncludes(url.text, '"pathname":"/url"')
    const [dots] = await exchange({ path }, toRequest('GET /users/../methods'))
    checkResponse(dots, { status: 200, text: /methods\.ts/ })
  })

  testSite('ip() over a Unix socket is what the trusted proxy says', site, async () => {
    const [without] = await exchange({ path }, toRequest('GET /ip'))
    assertEquals(without.text, '[null,null]')
    const [forwarded] = await exchange({ path }, toRequest('GET /ip', { 'x-forwarded-for': '1.1.1.1' }))
    assertEquals(forwarded.text, '["1.1.1.1",null]')
  })
}
