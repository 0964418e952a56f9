import { assert, assertEquals } from '@std/assert'
import { BIG, HTTP_TIME, plain, TAG, textOf, withSite } from './site.ts'

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
