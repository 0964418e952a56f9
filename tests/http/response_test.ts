import { assert, assertEquals } from '@std/assert'
import { type Case, testCases, testSite } from './cases.ts'
import { exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

const site = defineSite()

/** A case for GET /FOLDER/KIND. */
function get(path: string, name: string, wanted: Omit<Case, 'name' | 'request'>): Case {
  return { name: `${path} ${name}`, request: `GET /${path}`, ...wanted }
}

const TEXT = 'text/plain; charset=utf-8'

testCases('send', site, [
  get('send/json', 'is UTF-8 JSON', {
    status: 200,
    has: { 'content-type': 'application/json', 'content-length': '19' },
    text: '{"a":[1,null,"ü"]}',
  }),
  get('send/json-null', 'is null', { status: 200, text: 'null' }),
  get('send/json-undefined', 'is an error of the handler', { status: 500 }),
  get('send/json-status', 'takes status and headers', { status: 201, has: { 'x-a': 'b' } }),
  get('send/json-type', 'takes another type', {
    status: 200,
    has: { 'content-type': 'application/ld+json' },
  }),
  get('send/text', 'is UTF-8 text', { status: 200, has: { 'content-type': TEXT }, text: 'ü' }),
  get('send/html', 'is UTF-8 HTML', {
    status: 200,
    has: { 'content-type': 'text/html; charset=utf-8' },
    text: '<b>ü</b>',
  }),
  get('send/custom', 'has no type of its own', {
    status: 200,
    has: { 'content-type': 'a/b' },
    text: '\x01\x02',
  }),
  get('send/custom-null', 'has no body', { status: 200, has: { 'content-type': null }, text: '' }),
  get('send/empty', 'is 204', { status: 204, has: { 'content-type': null, 'content-length': null } }),
  get('send/empty-status', 'takes a status', { status: 202, text: '' }),
  get('send/empty-set-status', 'takes the status of set', { status: 205 }),
  get('send/download', 'is an attachment', {
    status: 200,
    has: {
      'content-disposition': 'attachment; filename="table.csv"',
      'content-type': 'application/octet-stream',
    },
    text: 'a,b',
  }),
  get('send/download-name', 'codes the name', {
    status: 200,
    has: {
      'content-disposition':
        `attachment; filename="na_ve _q_ 100_.csv"; filename*=UTF-8''na%C3%AFve%20%22q%22%20100%25.csv`,
    },
  }),
  get('send/download-type', 'takes a type', { status: 200, has: { 'content-type': 'text/csv' } }),
  get('send/download-evil', 'lets no header in', {
    status: 200,
    has: {
      'x-evil': null,
      'content-disposition': /^attachment; filename="a__x-evil: 1_; filename=b"; filename\*=UTF-8''a%0D%0A/,
    },
  }),
  get('send/native', 'is sent as it is', { status: 200, has: { 'x-native': '1' }, text: 'native' }),
  get('send/native-redirect', 'is sent as it is', { status: 301, has: { location: 'https://example.org/' } }),
  get('send/native-json', 'is sent as it is', { status: 200, json: { native: true } }),
  get('send/native-async', 'is awaited', { status: 200, text: 'later' }),
  get('send/fetched', 'is sent as it is', { status: 200, text: 'fetched' }),
  get('send/set-status', 'uses the status', { status: 418, text: 'teapot' }),
  get('send/set-status-bad', 'refuses the status', { status: 500 }),
  get('send/big', 'arrives whole', {
    status: 200,
    has: { 'content-length': '1000000' },
    text: /^(0123456789){100000}$/,
  }),
  {
    name: 'HEAD of a big text has its length',
    request: 'HEAD /send/big',
    status: 200,
    has: { 'content-length': '1000000' },
  },
])

testCases('redirect', site, [
  get('send/redirect', 'is 302 to the target', {
    status: 302,
    has: { location: '/users/7?a=b#c' },
    text: '',
  }),
  get('send/redirect-relative', 'is resolved', { status: 302, has: { location: '/users' } }),
  get('send/redirect-away', 'takes http(s) and 303', {
    status: 303,
    has: { location: 'https://example.org/a%20b' },
  }),
  get('send/redirect-status', 'takes 308', { status: 308, has: { location: '/' } }),
  get('send/redirect-bad-status', 'takes no 300', { status: 500, has: { location: null } }),
  get('send/redirect-javascript', 'refuses the scheme', { status: 500, has: { location: null } }),
  get('send/redirect-protocol-relative', 'stays on the origin', { status: 500, has: { location: null } }),
  get('send/redirect-backslash', 'stays on the origin', { status: 500, has: { location: null } }),
  get('send/redirect-tab', 'stays on the origin', { status: 500, has: { location: null } }),
  get('send/redirect-to-query?to=%0d%0ax-evil:1', 'lets no header in', {
    status: 500,
    has: { 'x-evil': null, location: null },
  }),
  get('send/redirect-to-query?to=data:text/html,x', 'refuses data:', {
    status: 500,
    has: { location: null },
  }),
  get('send/redirect-to-query?to=%2F%2Fexample.org', 'stays on the origin', {
    status: 500,
    has: { location: null },
  }),
  get('send/redirect-to-query?to=https:example.org', 'takes no scheme without slashes elsewhere', {
    status: 500,
    has: { location: null },
  }),
  get('send/redirect-to-query?to=%2Fa', 'passes a path', { status: 302, has: { location: '/a' } }),
])

testCases('headers', site, [
  get('set/header', 'the last value wins', { status: 200, has: { 'x-one': '2' } }),
  get('set/append', 'append adds', { status: 200, has: { 'x-list': 'a, b' } }),
  get('set/headers', 'several at once', { status: 200, has: { 'x-a': '1', 'x-b': '2' } }),
  get('set/init-wins', 'init wins over set', { status: 200, has: { 'x-a': 'init' } }),
  get('set/set-over-default', 'set wins over the default', {
    status: 200,
    has: { 'content-type': 'text/css' },
  }),
  get('set/native-keeps', 'a native response keeps its own and takes the rest', {
    status: 200,
    has: { 'x-a': 'native', 'x-b': 'set' },
  }),
  get('set/immutable', 'an immutable response takes them too', {
    status: 302,
    has: { 'x-a': 'set', location: 'https://example.org/' },
  }),
  get('set/fetched', 'a response of fetch takes them too', {
    status: 200,
    has: { 'x-a': 'set' },
    text: 'fetched',
  }),
  get('set/vary', 'Vary is merged, each name once', {
    status: 200,
    has: { vary: /^Origin, (accept, cookie|cookie, Accept)$/i },
  }),
  get('set/vary-star', 'Vary: * stays', { status: 200, has: { vary: '*' } }),
  get('set/bad-name', 'a bad name is an error of the handler', { status: 500 }),
  get('set/bad-value', 'a value with a line break is refused', {
    status: 500,
    has: { 'x-evil': null, 'x-a': null },
  }),
  get('set/then-throw', 'an error page takes them too', {
    status: 500,
    has: { 'x-a': 'set', 'set-cookie': 'seen=yes; Path=/' },
  }),
])

testCases('cookies', site, [
  get('set/cookie', 'has the path /', { status: 200, has: { 'set-cookie': 'a=1; Path=/' } }),
  get('set/cookie-path', 'takes attributes', {
    status: 200,
    has: { 'set-cookie': 'a=1; Secure; Partitioned; Domain=x.test; Path=/p' },
  }),
  get('set/cookie-bad-name', 'refuses a bad name', { status: 500, has: { 'set-cookie': null } }),
  get('set/cookie-bad-value', 'refuses a bad value', { status: 500, has: { 'set-cookie': null } }),
  {
    name: 'are read, quoted ones and names that repeat too',
    request: 'GET /set/read',
    headers: { cookie: 'a=1; b="x"; __proto__=p; c=a=b', 'x-list': 'a, b' },
    status: 200,
    text: /"a":"1".*"__proto__":"p".*"c":"a=b".*"none":null,"proto":"p","host":"mayfly\.test","list":"a, b"/,
  },
  {
    name: 'a malformed Cookie header is no error',
    request: 'GET /set/read',
    headers: { cookie: ';;= ;x;%zz=%zz' },
    status: 200,
  },
])

testSite('several cookies are several Set-Cookie lines', site, async ({ address }) => {
  const [several] = await exchange(address, toRequest('GET /set/cookies'))
  const lines = several.headers.get('set-cookie') ?? []
  assertEquals(lines.length, 3)
  assertEquals(lines[0], 'a=1; Path=/')
  assertEquals(lines[1], 'b=2; Secure; HttpOnly; Max-Age=60; SameSite=Strict; Path=/')
  assert(lines[2].startsWith('c=;') && lines[2].includes('Expires=Thu, 01 Jan 1970'), lines[2])
  for (const kind of ['cookie-native', 'cookie-init']) {
    const [response] = await exchange(address, toRequest(`GET /set/${kind}`))
    assertEquals([...response.headers.get('set-cookie') ?? []].sort(), ['a=1; Path=/', 'x=1', 'y=2'], kind)
  }
})
