import { assertEquals, assertMatch } from '@std/assert'
import type { LifecycleEvent } from '@mayfly/mayfly'
import { type Case, testCases, testSite } from './cases.ts'
import { exchange, toRequest } from './raw_client.ts'
import { defineSite, fixture, startSite } from './site.ts'

const missing: LifecycleEvent<'static:missing'>[] = []
const site = defineSite({
  setup: (router) => {
    router.static('/public', fixture('public'))
    router.static('/public/docs/deeper', { dir: fixture('public'), index: false, immutable: true })
    router.static('/', fixture('public'))
    router.on('static:missing', (event) => void missing.push(event))
  },
})

const TEXT = 'hello, static world\n'

/** A case for GET of a static path. */
function get(path: string, wanted: Omit<Case, 'name' | 'request'>, name = ''): Case {
  return { name: `GET ${path} ${name}`.trim(), request: `GET ${path}`, ...wanted }
}

testCases('static', site, [
  get('/public/hello.txt', {
    status: 200,
    has: {
      'content-type': /^text\/plain/,
      'content-length': '20',
      'accept-ranges': 'bytes',
      etag: /^W\/".+"$/,
      'last-modified': / GMT$/,
      'cache-control': null,
    },
    text: TEXT,
  }),
  {
    name: 'HEAD has the headers and no body',
    request: 'HEAD /public/hello.txt',
    status: 200,
    has: { 'content-length': '20', etag: /^W/ },
    text: '',
  },
  get('/hello.txt', { status: 200, text: TEXT }, 'from the root mount'),
  get('/public/docs/', { status: 200, has: { 'content-type': /^text\/html/ }, text: '<h1>docs</h1>\n' }),
  get('/public/docs', { status: 308, has: { location: '/public/docs/' } }),
  get('/public/docs?a=1', { status: 308, has: { location: '/public/docs/?a=1' } }),
  get('/public/docs/deeper/hello.txt', {
    status: 200,
    has: { 'cache-control': 'public, max-age=31536000, immutable' },
    text: TEXT,
  }, 'by the longest prefix'),
  get('/public/with%20space/%C3%BCn%C3%AF.txt', { status: 200, text: 'x\n' }),
  get('/public/.well-known/token.txt', { status: 200, text: 'token\n' }),
  get('/public/.hidden.txt', { status: 404 }),
  get('/public/%2ehidden.txt', { status: 404 }),
  get('/public/nowhere.txt', { status: 404 }),
  get('/public/hello.txt/', { status: 404 }),
  get('/public//hello.txt', { status: 404 }),
  get('/public/../site.ts', { status: 404 }),
  get('/public/..%2f..%2fsite.ts', { status: 404 }),
  get('/public/%2e%2e/%2e%2e/site.ts', { status: 404 }),
  get('/public/..%5c..%5csite.ts', { status: 404 }),
  get('/public/docs%2findex.html', { status: 404 }),
  get('/public/hello.txt%00.html', { status: 404 }),
  get('/public/%zz', { status: 400 }),
  get('/public', { status: 404 }, 'without an index'),
  get('/methods', { status: 200, text: /methods\.ts/ }, 'routes come first'),
  {
    name: 'POST to a file is 405',
    request: 'POST /public/hello.txt',
    status: 405,
    has: { allow: 'GET, HEAD, OPTIONS' },
  },
  {
    name: 'OPTIONS of a file',
    request: 'OPTIONS /public/hello.txt',
    status: 204,
    has: { allow: 'GET, HEAD, OPTIONS' },
  },
  get('/public/app.js', {
    status: 200,
    has: { 'content-encoding': null, vary: /accept-encoding/i },
    text: 'console.log(1)\n',
  }),
  {
    name: 'a precompressed file for who takes it',
    request: 'GET /public/app.js',
    headers: { 'accept-encoding': 'gzip' },
    status: 200,
    has: { 'content-encoding': 'gzip', 'content-type': /javascript/, vary: /accept-encoding/i },
  },
  {
    name: 'not for who refuses it',
    request: 'GET /public/app.js',
    headers: { 'accept-encoding': 'gzip;q=0' },
    status: 200,
    has: { 'content-encoding': null },
  },
])

/** Range, and what comes of it: the text, or the status. */
const RANGES: readonly (readonly [string, string | number, string | null])[] = [
  ['bytes=0-4', 'hello', 'bytes 0-4/20'],
  ['bytes=7-', 'static world\n', 'bytes 7-19/20'],
  ['bytes=-6', 'world\n', 'bytes 14-19/20'],
  ['bytes=0-0', 'h', 'bytes 0-0/20'],
  ['bytes=0-999', TEXT, 'bytes 0-19/20'],
  ['bytes=-999', TEXT, 'bytes 0-19/20'],
  ['bytes=20-', 416, 'bytes */20'],
  ['bytes=-0', 416, 'bytes */20'],
  ['bytes=5-2', 200, null],
  ['lines=0-4', 200, null],
  ['bytes=a-b', 200, null],
]
for (const path of ['/public/hello.txt', '/file?name=hello.txt']) {
  testCases(`ranges of ${path}`, site, [
    ...RANGES.map(([range, wanted, contentRange]): Case => ({
      name: range,
      request: `GET ${path}`,
      headers: { range },
      status: typeof wanted === 'number' ? wanted : 206,
      has: { 'content-range': contentRange },
      ...(typeof wanted === 'number' ? {} : { text: wanted }),
    })),
    {
      name: 'two ranges are multipart',
      request: `GET ${path}`,
      headers: { range: 'bytes=0-4,14-18' },
      status: 206,
      has: { 'content-type': /^multipart\/byteranges; boundary=/ },
      text: /bytes 0-4\/20\r\n\r\nhello\r\n.*bytes 14-18\/20\r\n\r\nworld\r\n/s,
    },
    {
      name: 'HEAD ignores Range',
      request: `HEAD ${path}`,
      headers: { range: 'bytes=0-4' },
      status: 200,
      has: { 'content-length': '20' },
    },
    {
      name: 'an If-Range of another version gives the whole',
      request: `GET ${path}`,
      headers: { range: 'bytes=0-4', 'if-range': '"old"' },
      status: 200,
      text: TEXT,
    },
  ])
}

for (const path of ['/public/hello.txt', '/file?name=hello.txt']) {
  testSite(`${path}: 304 by ETag and by date, and only then`, site, async ({ address }) => {
    const ask = async (headers: Record<string, string>) =>
      (await exchange(address, toRequest(`GET ${path}`, headers)))[0]
    const first = await ask({})
    const etag = first.headers.get('etag')![0]
    const modified = first.headers.get('last-modified')![0]
    const current: Record<string, string>[] = [
      { 'if-none-match': etag },
      { 'if-none-match': `"x", ${etag}` },
      { 'if-none-match': '*' },
      { 'if-modified-since': modified },
    ]
    for (const headers of current) {
      const response = await ask(headers)
      assertEquals([response.status, response.text], [304, ''], JSON.stringify(headers))
      assertEquals(response.headers.get('etag'), [etag])
    }
    const outdated: Record<string, string>[] = [
      { 'if-none-match': '"x"' },
      { 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
      { 'if-none-match': '"x"', 'if-modified-since': modified },
      { 'if-modified-since': 'nonsense' },
    ]
    for (const headers of outdated) {
      assertEquals((await ask(headers)).status, 200, JSON.stringify(headers))
    }
    assertEquals((await ask({ 'if-match': '"x"' })).status, 412)
  })
}

testCases('send.file', site, [
  get('/file?name=hello.txt', {
    status: 200,
    has: { 'content-type': /^text\/plain/, 'content-length': '20' },
    text: TEXT,
  }),
  get('/file?name=hello.txt&as=ü.txt'.replace('ü', '%C3%BC'), {
    status: 200,
    has: { 'content-disposition': `attachment; filename="_.txt"; filename*=UTF-8''%C3%BC.txt` },
  }),
  get('/file?name=nowhere.txt', { status: 404 }),
  get('/file?name=docs', { status: 404 }, 'a folder'),
  {
    name: 'HEAD',
    request: 'HEAD /file?name=hello.txt',
    status: 200,
    has: { 'content-length': '20' },
    text: '',
  },
])

testSite('static: a missing file tells static:missing, a refused one why', site, async ({ address }) => {
  missing.length = 0
  await exchange(address, toRequest('GET /public/nowhere.txt'))
  await exchange(address, toRequest('GET /public/.hidden.txt'))
  assertEquals(missing.map(({ metadata }) => metadata.reason), ['missing', 'refused'])
})

Deno.test('static: a link out of the folder is refused', async () => {
  const dir = await Deno.makeTempDir()
  try {
    await Deno.mkdir(`${dir}/public`)
    await Deno.writeTextFile(`${dir}/secret.txt`, 'secret')
    await Deno.writeTextFile(`${dir}/public/plain.txt`, 'plain')
    await Deno.symlink(`${dir}/secret.txt`, `${dir}/public/link.txt`)
    await Deno.symlink(dir, `${dir}/public/up`)
    await Deno.symlink(`${dir}/public/plain.txt`, `${dir}/public/inside.txt`)
    const linked = await startSite({ setup: (router) => router.static('/s', `${dir}/public`) })
    try {
      const statuses: number[] = []
      for (const name of ['link.txt', 'up/secret.txt', 'inside.txt', 'plain.txt']) {
        const [response] = await exchange(linked.address, toRequest(`GET /s/${name}`))
        statuses.push(response.status)
        assertMatch(response.text, /^(?!secret)/)
      }
      assertEquals(statuses, [404, 404, 200, 200])
    } finally {
      await linked.close()
    }
  } finally {
    await Deno.remove(dir, { recursive: true })
  }
})
