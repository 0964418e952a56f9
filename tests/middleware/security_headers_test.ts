import { securityHeaders } from '@mayfly/mayfly'
import { assert, assertEquals, assertMatch, assertNotEquals } from '@std/assert'
import { answer, assertRefused, makeSite } from './site.ts'

const nonce = answer((ctx) => ctx.state.nonce)

Deno.test('securityHeaders sets its defaults', async () => {
  const { headers } = await makeSite([securityHeaders()]).ask('/')
  const expected = {
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'origin-agent-cluster': '?1',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-dns-prefetch-control': 'off',
    'x-download-options': 'noopen',
    'x-frame-options': 'SAMEORIGIN',
    'x-permitted-cross-domain-policies': 'none',
    'strict-transport-security': null,
    'cross-origin-embedder-policy': null,
    'permissions-policy': null,
  }
  for (const [name, value] of Object.entries(expected)) assertEquals(headers.get(name), value, name)
})

Deno.test('securityHeaders puts one fresh nonce into policy and state', async () => {
  const { ask } = makeSite([securityHeaders(), nonce])
  const first = await ask('/')
  const value = await first.json()
  assertMatch(value, /^[A-Za-z0-9+/]{22}==$/)
  assert(first.headers.get('content-security-policy')?.includes(`script-src 'self' 'nonce-${value}'`))
  assertNotEquals(await (await ask('/')).json(), value)
})

Deno.test('securityHeaders fills every place of the nonce, and both policies with the same', async () => {
  const policy = `script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'`
  const response = await makeSite([
    securityHeaders({ contentSecurityPolicy: policy, contentSecurityPolicyReportOnly: policy }),
    nonce,
  ]).ask('/')
  const expected = policy.replaceAll('{nonce}', await response.json())
  assertEquals(response.headers.get('content-security-policy'), expected)
  assertEquals(response.headers.get('content-security-policy-report-only'), expected)
})

Deno.test('securityHeaders makes no nonce that no policy names', async () => {
  const { ask } = makeSite([securityHeaders({ contentSecurityPolicy: "default-src 'self'" }), nonce])
  assertEquals(await (await ask('/')).json(), null)
})

Deno.test('securityHeaders leaves out what is false and overrides what is given', async () => {
  const { headers } = await makeSite([securityHeaders({
    contentSecurityPolicy: false,
    xFrameOptions: 'DENY',
    xDownloadOptions: false,
    strictTransportSecurity: 'max-age=31536000',
  })]).ask('/')
  assertEquals(headers.get('content-security-policy'), null)
  assertEquals(headers.get('x-frame-options'), 'DENY')
  assertEquals(headers.get('x-download-options'), null)
  assertEquals(headers.get('strict-transport-security'), 'max-age=31536000')
})

Deno.test('securityHeaders keeps a header that the handler sets', async () => {
  const handler = answer((ctx) => ctx.send.text('x', { headers: { 'x-frame-options': 'DENY' } }))
  assertEquals((await makeSite([securityHeaders(), handler]).ask('/')).headers.get('x-frame-options'), 'DENY')
})

for (const path of ['/boom', '/nowhere']) {
  Deno.test(`securityHeaders protects the error page of ${path}`, async () => {
    const { headers } = await makeSite([securityHeaders()]).ask(path)
    assertEquals(headers.get('x-content-type-options'), 'nosniff')
    assert(headers.has('content-security-policy'))
  })
}

Deno.test('securityHeaders checks its options', () => {
  assertRefused(
    () => securityHeaders({ xFrameOptions: 'a\r\nb: c' }),
    TypeError,
    'xFrameOptions is',
    'line breaks',
  )
  assertRefused(() => securityHeaders({ referrerPolicy: '' }), TypeError, 'referrerPolicy is ""')
  assertRefused(
    () => securityHeaders({ xFrameOption: 'DENY' } as never),
    TypeError,
    'xFrameOption is no option',
  )
  assertRefused(() => securityHeaders({ xFrameOptions: true as never }), TypeError, 'xFrameOptions is true')
})
