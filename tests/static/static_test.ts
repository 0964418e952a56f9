import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import type { Context } from '../../src/context/types.ts'
import { HttpError } from '../../src/errors/http_error.ts'
import { createStaticMount, sortMounts } from '../../src/static/mount.ts'
import type { StaticSource } from '../../src/static/options.ts'
import { serveFile } from '../../src/static/serve_file.ts'
import { serveStatic } from '../../src/static/serve_static.ts'

const TIME = new Date('2026-01-02T03:04:05.678Z')
const HTTP_TIME = 'Fri, 02 Jan 2026 03:04:05 GMT'
const ctx = {} as Context
const BIG = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)

interface Site {
  root: string
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Response | undefined>
  missing: [path: string, reason: string][]
}

/** A folder of files for one test, removed after it; checks that no file is left open. */
async function withSite(
  source: (root: string) => StaticSource,
  body: (site: Site) => Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir())
  const root = `${base}/public`
  await Deno.mkdir(`${root}/folder/bare`, { recursive: true })
  await Deno.mkdir(`${root}/.well-known`)
  await Deno.mkdir(`${root}/.git`)
  const files: Record<string, string | Uint8Array> = {
    'hello.txt': 'hello, world',
    'empty.css': '',
    'big.bin': BIG,
    'page.html': '<p>page</p>',
    'folder/index.html': '<p>index</p>',
    'folder/bare/x.json': '{}',
    'with space & ü.txt': 'space',
    '100%.txt': 'percent',
    '.env': 'SECRET',
    '.git/config': 'SECRET',
    '.well-known/security.txt': 'contact',
    '.well-known/.secret': 'SECRET',
    'app.js': 'let plain = true',
    'app.js.br': 'as brotli',
    'app.js.gz': 'as gzip, longer',
    'old.js': 'new text',
    'old.js.br': 'stale',
    '../outside.txt': 'SECRET',
  }
  for (const [name, data] of Object.entries(files)) {
    const path = `${root}/${name}`
    await Deno.writeFile(path, typeof data === 'string' ? new TextEncoder().encode(data) : data)
    await Deno.utime(path, TIME, TIME)
  }
  await Deno.utime(`${root}/old.js.br`, TIME, new Date(TIME.getTime() - 5000))
  await Deno.symlink(`${base}/outside.txt`, `${root}/escape.txt`)
  await Deno.symlink(base, `${root}/escape`)
  await Deno.symlink(`${root}/hello.txt`, `${root}/inside.txt`)
  await Deno.symlink(`${root}/.env`, `${root}/env.txt`)
  await Deno.symlink(`${base}/outside.txt`, `${root}/page.html.br`)
  await Deno.symlink('loop', `${root}/loop`)
  const before = openFiles()
  const mount = createStaticMount('/files', source(root))
  const missing: Site['missing'] = []
  try {
    await body({
      root,
      missing,
      get: (path, headers = {}, method = 'GET') =>
        serveStatic(
          [mount],
          new Request(`http://host/files${encodeURI(path)}?q=1`, { method, headers }),
          `/files${path}`,
          ctx,
          (path, reason) => missing.push([path, reason]),
        ),
    })
    for (let i = 0; i < 50 && openFiles() > before; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assertEquals(openFiles(), before)
  } finally {
    await Deno.remove(base, { recursive: true })
  }
}

function openFiles(): number {
  if (Deno.build.os !== 'linux') return 0
  let count = 0
  for (const { name } of Deno.readDirSync('/proc/self/fd')) {
    try {
      if (/\/public\//.test(Deno.readLinkSync(`/proc/self/fd/${name}`))) count++
    } catch {
      // It was the listing's own descriptor.
    }
  }
  return count
}

function plain(root: string): StaticSource {
  return root
}

async function textOf(response: Response | undefined): Promise<string> {
  assert(response !== undefined)
  return await response.text()
}

Deno.test('a file is answered with type, length, tag and time', () =>
  withSite(plain, async ({ get }) => {
    const response = await get('/hello.txt')
    assertEquals(await textOf(response), 'hello, world')
    assertEquals(response!.status, 200)
    assertEquals(Object.fromEntries(response!.headers), {
      'accept-ranges': 'bytes',
      'content-length': '12',
      'content-type': 'text/plain; charset=UTF-8',
      etag: `W/"c-${TIME.getTime().toString(16)}"`,
      'last-modified': HTTP_TIME,
      vary: 'Accept-Encoding',
    })
  }))

Deno.test('names are taken as they are on disk, types by suffix', () =>
  withSite(plain, async ({ get }) => {
    assertEquals(await textOf(await get('/with space & ü.txt')), 'space')
    // `%25` is how the router's normal form writes a percent sign.
    assertEquals(await textOf(await get('/100%25.txt')), 'percent')
    assertEquals(await textOf(await get('/inside.txt')), 'hello, world')
    assertEquals(
      (await get('/folder/bare/x.json', {}, 'HEAD'))!.headers.get('content-type'),
      'application/json; charset=UTF-8',
    )
    assertEquals((await get('/big.bin', {}, 'HEAD'))!.headers.get('content-type'), 'application/octet-stream')
    assertEquals(await textOf(await get('/empty.css')), '')
    assertEquals(await textOf(await get('/.well-known/security.txt')), 'contact')
  }))

Deno.test('a big file arrives whole', () =>
  withSite(plain, async ({ get }) => {
    assertEquals(new Uint8Array(await (await get('/big.bin'))!.arrayBuffer()), BIG)
  }))

Deno.test('HEAD has the headers of GET and no body', () =>
  withSite(plain, async ({ get }) => {
    for (const path of ['/hello.txt', '/big.bin', '/empty.css']) {
      const [head, whole] = [await get(path, {}, 'HEAD'), await get(path)]
      assertEquals([...head!.headers], [...whole!.headers])
      assertEquals(head!.body, null)
      await whole!.body?.cancel()
    }
  }))

Deno.test('a folder is its index, after a redirect to the slash', () =>
  withSite(plain, async ({ get }) => {
    assertEquals(await textOf(await get('/folder/')), '<p>index</p>')
    const redirect = await get('/folder')
    assertEquals([redirect!.status, redirect!.headers.get('location')], [308, '/files/folder/?q=1'])
    for (const path of ['/folder/bare', '/folder/bare/', '/hello.txt/', '/', '', '/folder/index.html/x']) {
      assertEquals(await get(path), undefined, path)
    }
  }))

Deno.test('index names another file, or none', async () => {
  await withSite((dir) => ({ dir, index: 'hello.txt' }), async ({ get }) => {
    assertEquals(await textOf(await get('/')), 'hello, world')
    assertEquals((await get(''))!.status, 308)
  })
  await withSite(
    (dir) => ({ dir, index: false }),
    async ({ get }) => assertEquals(await get('/folder/'), undefined),
  )
})

Deno.test('names that are never served are refused and reported', () =>
  withSite(plain, async ({ get, missing, root }) => {
    const refused = [
      '/.env',
      '/.git/config',
      '/.well-known/.secret',
      '/folder/.hidden',
      '/../outside.txt',
      '/folder/../../outside.txt',
      '/folder//index.html',
      '/..%2Foutside.txt',
      '/folder%2Findex.html',
      '/folder\\index.html',
      '/hello.txt\0',
      '/escape.txt',
      '/escape/outside.txt',
      '/escape',
      '/env.txt',
      '//hello.txt',
      `/${root}/hello.txt`,
    ]
    for (const path of refused) assertEquals(await get(path), undefined, path)
    assertEquals(missing, refused.map((path) => [`/files${path}`, 'refused']))
  }))

Deno.test('what is not there is reported as missing', () =>
  withSite(plain, async ({ get, missing }) => {
    const absent = ['/none', '/hello.txt/below', '/loop', `/${'x'.repeat(300)}`, '/folder/none/deeper']
    for (const path of absent) assertEquals(await get(path), undefined, path)
    assertEquals(missing, absent.map((path) => [`/files${path}`, 'missing']))
  }))

Deno.test('a pipe is not opened', () =>
  withSite(plain, async ({ get, root }) => {
    const made = await new Deno.Command('mkfifo', { args: [`${root}/pipe.txt`] }).output()
    assert(made.success)
    assertEquals(await get('/pipe.txt'), undefined)
  }))

Deno.test('other methods: 405 with Allow on a file, OPTIONS 204, nothing elsewhere', () =>
  withSite(plain, async ({ get }) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const error = await assertRejects(() => get('/hello.txt', {}, method), HttpError)
      assertEquals([error.status, error.headers], [405, { allow: 'GET, HEAD, OPTIONS' }])
      assertEquals(await get('/none', {}, method), undefined)
    }
    const options = await get('/hello.txt', {}, 'OPTIONS')
    assertEquals([options!.status, options!.headers.get('allow')], [204, 'GET, HEAD, OPTIONS'])
  }))

const TAG = `W/"c-${TIME.getTime().toString(16)}"`
const EARLIER = 'Thu, 01 Jan 2026 00:00:00 GMT'
const LATER = 'Sat, 03 Jan 2026 00:00:00 GMT'
const CONDITIONS: [headers: Record<string, string>, status: number][] = [
  [{ 'if-none-match': TAG }, 304],
  [{ 'if-none-match': TAG.slice(2) }, 304],
  [{ 'if-none-match': `"other", ${TAG}` }, 304],
  [{ 'if-none-match': '*' }, 304],
  [{ 'if-none-match': '"other"' }, 200],
  [{ 'if-none-match': '' }, 200],
  [{ 'if-modified-since': HTTP_TIME }, 304],
  [{ 'if-modified-since': LATER }, 304],
  [{ 'if-modified-since': EARLIER }, 200],
  [{ 'if-modified-since': 'yesterday' }, 200],
  [{ 'if-modified-since': '2027-01-01' }, 200],
  [{ 'if-modified-since': LATER, 'if-none-match': '"other"' }, 200],
  [{ 'if-modified-since': EARLIER, 'if-none-match': TAG }, 304],
  [{ 'if-match': '*' }, 200],
  [{ 'if-match': TAG }, 412],
  [{ 'if-match': '"other"' }, 412],
  [{ 'if-unmodified-since': HTTP_TIME }, 200],
  [{ 'if-unmodified-since': EARLIER }, 412],
  [{ 'if-unmodified-since': EARLIER, 'if-match': '*' }, 200],
  [{ 'if-none-match': TAG, range: 'bytes=0-1' }, 304],
]
for (const [headers, status] of CONDITIONS) {
  Deno.test(`conditions ${JSON.stringify(headers)} give ${status}`, () =>
    withSite(plain, async ({ get }) => {
      for (const method of ['GET', 'HEAD']) {
        const response = await get('/hello.txt', headers, method)
        assertEquals(response!.status, status, method)
        assertEquals(response!.headers.get('etag'), TAG)
        assertEquals(await response!.text(), status === 200 && method === 'GET' ? 'hello, world' : '')
      }
    }))
}

const RANGES: [range: string, status: number, body: string, contentRange: string | null][] = [
  ['bytes=0-0', 206, 'h', 'bytes 0-0/12'],
  ['bytes=7-', 206, 'world', 'bytes 7-11/12'],
  ['bytes=7-99', 206, 'world', 'bytes 7-11/12'],
  ['bytes=-5', 206, 'world', 'bytes 7-11/12'],
  ['bytes=-99', 206, 'hello, world', 'bytes 0-11/12'],
  ['BYTES=0-4', 206, 'hello', 'bytes 0-4/12'],
  ['bytes= 0-4 , ', 206, 'hello', 'bytes 0-4/12'],
  ['bytes=50-,0-4', 206, 'hello', 'bytes 0-4/12'],
  ['bytes=12-', 416, 'The file has 12 bytes\n', 'bytes */12'],
  ['bytes=-0', 416, 'The file has 12 bytes\n', 'bytes */12'],
  ['bytes=5-2', 200, 'hello, world', null],
  ['bytes=a-b', 200, 'hello, world', null],
  ['bytes=', 200, 'hello, world', null],
  ['bytes=-', 200, 'hello, world', null],
  ['bytes=1', 200, 'hello, world', null],
  ['items=0-1', 200, 'hello, world', null],
  ['bytes=0-11,0-11', 200, 'hello, world', null],
  [`bytes=${Array(33).fill('0-0').join()}`, 200, 'hello, world', null],
]
for (const [range, status, body, contentRange] of RANGES) {
  Deno.test(`Range ${range.slice(0, 40)} gives ${status}`, () =>
    withSite(plain, async ({ get }) => {
      const response = await get('/hello.txt', { range })
      assertEquals(response!.status, status)
      assertEquals(response!.headers.get('content-range'), contentRange)
      if (status !== 416) assertEquals(response!.headers.get('content-length'), String(body.length))
      assertEquals(await response!.text(), body)
      // Range is for GET alone.
      assertEquals((await get('/hello.txt', { range }, 'HEAD'))!.status, 200)
    }))
}

Deno.test('several ranges come as multipart/byteranges of the declared length', () =>
  withSite(plain, async ({ get }) => {
    const response = await get('/hello.txt', { range: 'bytes=0-4,-5' })
    assertEquals(response!.status, 206)
    const boundary =
      /^multipart\/byteranges; boundary=([\w-]+)$/.exec(response!.headers.get('content-type')!)![1]
    const text = await response!.text()
    assertEquals(
      text,
      `--${boundary}\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Range: bytes 0-4/12\r\n\r\nhello\r\n` +
        `--${boundary}\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Range: bytes 7-11/12\r\n\r\nworld\r\n--${boundary}--\r\n`,
    )
    assertEquals(response!.headers.get('content-length'), String(text.length))
  }))

Deno.test('ranges over a big file equal slices of it', () =>
  withSite(plain, async ({ get }) => {
    let seed = 7
    const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n
    for (let i = 0; i < 30; i++) {
      const start = random(BIG.length)
      const end = start + random(BIG.length - start)
      const response = await get('/big.bin', { range: `bytes=${start}-${end}` })
      assertEquals(new Uint8Array(await response!.arrayBuffer()), BIG.slice(start, end + 1))
    }
    const twice = await get('/big.bin', { range: 'bytes=10-99999,150000-299000' })
    const bytes = new Uint8Array(await twice!.arrayBuffer())
    assertEquals(String(bytes.length), twice!.headers.get('content-length'))
    const at = new TextDecoder('latin1').decode(bytes).indexOf('\r\n\r\n') + 4
    assertEquals(bytes.slice(at, at + 99990), BIG.slice(10, 100000))
  }))

Deno.test('If-Range keeps the range only for the exact Last-Modified', () =>
  withSite(plain, async ({ get }) => {
    const cases: [string, number][] = [[HTTP_TIME, 206], [EARLIER, 200], [LATER, 200], [TAG, 200], [
      '"other"',
      200,
    ]]
    for (const [ifRange, status] of cases) {
      const response = await get('/hello.txt', { range: 'bytes=0-4', 'if-range': ifRange })
      assertEquals(response!.status, status, ifRange)
      await response!.body?.cancel()
    }
  }))

const CODINGS: [accept: string, coding: string | null, body: string][] = [
  ['br', 'br', 'as brotli'],
  ['gzip, deflate, br, zstd', 'br', 'as brotli'],
  ['gzip', 'gzip', 'as gzip, longer'],
  ['gzip;q=1, br;q=0.5', 'gzip', 'as gzip, longer'],
  ['br;q=0', null, 'let plain = true'],
  ['*', 'br', 'as brotli'],
  ['identity', null, 'let plain = true'],
  ['identity;q=1, br;q=0.5', null, 'let plain = true'],
  ['', null, 'let plain = true'],
]
for (const [accept, coding, body] of CODINGS) {
  Deno.test(`Accept-Encoding "${accept}" gives ${coding ?? 'the file as it is'}`, () =>
    withSite(plain, async ({ get }) => {
      const response = await get('/app.js', { 'accept-encoding': accept })
      assertEquals(response!.headers.get('content-encoding'), coding)
      assertEquals(response!.headers.get('vary'), 'Accept-Encoding')
      assertEquals(response!.headers.get('content-type'), 'text/javascript; charset=UTF-8')
      assertEquals(await response!.text(), body)
    }))
}

Deno.test('compressed files: own tag, never stale, never through a link, off by option', async () => {
  await withSite(plain, async ({ get }) => {
    const brotli = await get('/app.js', { 'accept-encoding': 'br' })
    const etag = brotli!.headers.get('etag')!
    assert(etag.endsWith('-br"'))
    await brotli!.body?.cancel()
    assertEquals((await get('/app.js', { 'accept-encoding': 'br', 'if-none-match': etag }))!.status, 304)
    const other = await get('/app.js', { 'if-none-match': etag })
    assertEquals(await textOf(other), 'let plain = true')
    assertEquals(await textOf(await get('/old.js', { 'accept-encoding': 'br' })), 'new text')
    assertEquals(await textOf(await get('/page.html', { 'accept-encoding': 'br' })), '<p>page</p>')
    assertEquals(await textOf(await get('/app.js', { 'accept-encoding': 'br', range: 'bytes=3-' })), 'brotli')
  })
  await withSite((dir) => ({ dir, precompressed: false }), async ({ get }) => {
    const response = await get('/app.js', { 'accept-encoding': 'br' })
    assertEquals([await textOf(response), response!.headers.get('vary')], ['let plain = true', null])
  })
})

Deno.test('caching is by option, on 304 as well', async () => {
  const cases: [object, string | null][] = [
    [{}, null],
    [{ maxAge: 0 }, 'public, max-age=0'],
    [{ maxAge: 60 }, 'public, max-age=60'],
    [{ immutable: true }, 'public, max-age=31536000, immutable'],
    [{ maxAge: 60, immutable: true }, 'public, max-age=60, immutable'],
  ]
  for (const [options, expected] of cases) {
    await withSite((dir) => ({ dir, ...options }), async ({ get }) => {
      for (const headers of [{}, { 'if-none-match': TAG }] as Record<string, string>[]) {
        const response = await get('/hello.txt', headers)
        assertEquals(response!.headers.get('cache-control'), expected)
        await response!.body?.cancel()
      }
    })
  }
})

Deno.test('a function chooses the folder, an answer or nothing for each request', () =>
  withSite(plain, async ({ root }) => {
    const answers: unknown[] = [root, new Response('own'), undefined, Promise.resolve(root)]
    const mount = createStaticMount('/', () => answers.shift() as string)
    const get = () => serveStatic([mount], new Request('http://host/hello.txt'), '/hello.txt', ctx)
    assertEquals(await textOf(await get()), 'hello, world')
    assertEquals(await textOf(await get()), 'own')
    assertEquals(await get(), undefined)
    assertEquals(await textOf(await get()), 'hello, world')
  }))

Deno.test('the longest prefix is asked first, then the others; a miss is told once', () =>
  withSite(plain, async ({ root }) => {
    const mounts = sortMounts([
      createStaticMount('/', root),
      createStaticMount('/a/folder/', `${root}/folder`),
      createStaticMount('/a', root),
    ])
    assertEquals(mounts.map(({ prefix }) => prefix), ['/a/folder', '/a', ''])
    const missing: string[] = []
    const get = (path: string) =>
      serveStatic(
        mounts,
        new Request(`http://host${path}`),
        path,
        ctx,
        (path, reason) => missing.push(`${path} ${reason}`),
      )
    assertEquals(await textOf(await get('/a/folder/bare/x.json')), '{}')
    assertEquals(await textOf(await get('/a/hello.txt')), 'hello, world')
    assertEquals(await textOf(await get('/hello.txt')), 'hello, world')
    assertEquals(await get('/ahello.txt'), undefined)
    assertEquals(await get('/a/folder/none'), undefined)
    assertEquals(await get('/a/.env'), undefined)
    assertEquals(missing, ['/ahello.txt missing', '/a/folder/none missing', '/a/.env refused'])
  }))

Deno.test('createStaticMount refuses what cannot be meant and names it', () => {
  const bad: [string, unknown, string][] = [
    ['assets', 'dir', 'starts with a slash'],
    ['/a*', 'dir', 'a plain path'],
    ['/a/../b', 'dir', 'a plain path'],
    ['/a', '', 'dir is ""'],
    ['/a', 7, 'got 7'],
    ['/a', null, 'got null'],
    ['/a', {}, 'dir is undefined'],
    ['/a', { dir: 'x', maxage: 1 }, 'maxage is 1, want no such option'],
    ['/a', { dir: 'x', maxAge: -1 }, 'maxAge is -1'],
    ['/a', { dir: 'x', maxAge: '1' }, 'maxAge is "1"'],
    ['/a', { dir: 'x', immutable: 1 }, 'immutable is 1'],
    ['/a', { dir: 'x', index: 'a/b' }, 'index is "a/b"'],
    ['/a', { dir: 'x', precompressed: 'br' }, 'precompressed is "br"'],
  ]
  for (const [prefix, source, message] of bad) {
    const error = assertThrows(() => createStaticMount(prefix, source as StaticSource))
    assert(error instanceof TypeError || error instanceof RangeError)
    assert(error.message.includes(message), error.message)
  }
})

Deno.test('a body that is given up or cut short closes its file', () =>
  withSite(plain, async ({ get, root }) => {
    const given = await get('/big.bin', { range: 'bytes=1-290000' })
    const reader = given!.body!.getReader()
    await reader.read()
    await reader.cancel()
    await (await get('/big.bin', { range: 'bytes=1-290000' }))!.body!.cancel()
    await (await get('/big.bin'))!.body!.cancel()
    const cut = await get('/big.bin', { range: 'bytes=0-290000' })
    await Deno.truncate(`${root}/big.bin`, 100_000)
    await assertRejects(() => cut!.arrayBuffer(), Error, 'shorter')
  }))

Deno.test('over a socket: whole, range, HEAD, and a client that goes away', () =>
  withSite(plain, async ({ root }) => {
    const mounts = [createStaticMount('/', root)]
    const server = Deno.serve(
      { port: 0, hostname: '127.0.0.1', onListen() {} },
      async (request) =>
        await serveStatic(mounts, request, new URL(request.url).pathname, ctx) ??
          new Response(null, { status: 404 }),
    )
    const url = `http://127.0.0.1:${server.addr.port}/big.bin`
    try {
      assertEquals(new Uint8Array(await (await fetch(url)).arrayBuffer()), BIG)
      const range = await fetch(url, { headers: { range: 'bytes=5-70000' } })
      assertEquals(new Uint8Array(await range.arrayBuffer()), BIG.slice(5, 70_001))
      const head = await fetch(url, { method: 'HEAD' })
      assertEquals(head.headers.get('content-length'), String(BIG.length))
      assertEquals(await head.text(), '')
      for (const headers of [{}, { range: 'bytes=0-299998' }] as Record<string, string>[]) {
        const controller = new AbortController()
        const gone = await fetch(url, { headers, signal: controller.signal })
        await gone.body!.getReader().read()
        controller.abort()
      }
    } finally {
      await server.shutdown()
    }
  }))

Deno.test('serveFile sends any file as a static folder would, or 404', () =>
  withSite(plain, async ({ root }) => {
    const send = (
      name: string,
      init?: Parameters<typeof serveFile>[2],
      headers: Record<string, string> = {},
    ) => serveFile(new Request('http://host/', { headers }), `${root}/${name}`, init)
    const whole = await send('hello.txt', {
      headers: { 'content-type': 'text/x-own', 'x-more': '1' },
      filename: 'grüße.txt',
    })
    assertEquals(whole.headers.get('content-type'), 'text/x-own')
    assertEquals(whole.headers.get('x-more'), '1')
    assertEquals(
      whole.headers.get('content-disposition'),
      `attachment; filename="gr__e.txt"; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt`,
    )
    assertEquals(await whole.text(), 'hello, world')
    assertEquals((await send('hello.txt', {}, { 'if-none-match': TAG })).status, 304)
    assertEquals(await (await send('hello.txt', {}, { range: 'bytes=-5' })).text(), 'world')
    const page = await send('page.html', { status: 410 }, { range: 'bytes=0-0', 'if-none-match': '*' })
    assertEquals([page.status, await page.text()], [410, '<p>page</p>'])
    for (const name of ['none', 'folder', 'hello.txt/x', 'loop']) {
      const error = await assertRejects(() => send(name), HttpError)
      assertEquals(error.status, 404, name)
    }
  }))
