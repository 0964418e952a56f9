import { compress, type CompressOptions, type Context } from '@mayfly/mayfly'
import { acceptsEncodings } from '@std/http/negotiation'
import { assert, assertEquals, assertRejects } from '@std/assert'
import { chooseEncoding } from '../../src/context/accept_encoding.ts'
import { peekBody } from '../../src/middleware/peek_body.ts'
import { answer, assertRefused, makeSite } from './site.ts'

const TEXT = 'a line of text that says the same again\n'.repeat(100)
const FORMATS: Record<string, CompressionFormat> = { br: 'brotli', gzip: 'gzip', deflate: 'deflate' }

interface Answer {
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly text: string
}

async function get(
  give: (ctx: Context) => unknown,
  accept: string | undefined = 'gzip, deflate, br',
  options: CompressOptions = {},
  init: RequestInit = {},
): Promise<Answer> {
  const headers: Record<string, string> = accept === undefined ? {} : { 'accept-encoding': accept }
  const response = await makeSite([compress(options), answer(give)]).ask('/', { ...init, headers })
  const bytes = await response.bytes()
  const coding = response.headers.get('content-encoding')
  const text = coding !== null && coding in FORMATS && bytes.length > 0
    ? await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(FORMATS[coding])))
      .text()
    : new TextDecoder().decode(bytes)
  return { headers: response.headers, bytes, text }
}

for (
  const [accept, coding] of [['gzip, deflate, br, zstd', 'br'], ['gzip', 'gzip'], ['br;q=0.5, gzip', 'gzip']]
) {
  Deno.test(`compress answers "${accept}" with ${coding}`, async () => {
    const { headers, bytes, text } = await get((ctx) => ctx.send.text(TEXT), accept)
    assertEquals(headers.get('content-encoding'), coding)
    assertEquals(headers.get('vary'), 'Accept-Encoding')
    assertEquals(text, TEXT)
    assert(bytes.length < TEXT.length / 10)
  })
}

Deno.test('compress makes deflate when it is asked to', async () => {
  const { headers, text } = await get((ctx) => ctx.send.text(TEXT), 'deflate', { encodings: ['deflate'] })
  assertEquals([headers.get('content-encoding'), text], ['deflate', TEXT])
})

for (const accept of [undefined, '', 'identity', 'zstd', 'br;q=0, gzip;q=0', 'gzip;q=0.5, identity;q=1']) {
  Deno.test(`compress answers "${accept}" as it is, and varies`, async () => {
    const response = await makeSite([compress(), answer((ctx) => ctx.send.text(TEXT))])
      .ask('/', { headers: accept === undefined ? {} : { 'accept-encoding': accept } })
    assertEquals(response.headers.get('content-encoding'), null)
    assertEquals(response.headers.get('vary'), 'Accept-Encoding')
    assertEquals(await response.text(), TEXT)
  })
}

const untouched: Record<string, ResponseInit> = {
  'an image': { headers: { 'content-type': 'image/png' } },
  'no media type': { headers: { 'content-type': '' } },
  'a coded body': { headers: { 'content-encoding': 'zstd' } },
  'a part': { status: 206, headers: { 'content-range': 'bytes 0-9/100' } },
  'no-transform': { headers: { 'cache-control': 'public, no-transform' } },
  'an event stream': { headers: { 'content-type': 'text/event-stream' } },
}
for (const [what, init] of Object.entries(untouched)) {
  Deno.test(`compress leaves ${what} alone`, async () => {
    const { headers, text } = await get((ctx) => ctx.send.text(TEXT, init))
    assertEquals(
      headers.get('content-encoding'),
      (init.headers as Record<string, string>)['content-encoding'] ?? null,
    )
    assertEquals(headers.get('vary'), null)
    assertEquals(text, TEXT)
  })
}

Deno.test('compress leaves a small body alone, declared or not', async () => {
  for (const headers of [{}, { 'content-length': '5' }] as Record<string, string>[]) {
    const answered = await get((ctx) => ctx.send.text('small', { headers }))
    assertEquals([answered.headers.get('content-encoding'), answered.text], [null, 'small'])
  }
})

Deno.test('compress takes its threshold from the options', async () => {
  const send = (ctx: Context) => ctx.send.text('x'.repeat(20))
  assertEquals((await get(send, 'gzip', { threshold: 20 })).headers.get('content-encoding'), 'gzip')
  assertEquals((await get(send, 'gzip', { threshold: 21 })).headers.get('content-encoding'), null)
  assertEquals((await get((ctx) => ctx.send.text(''), 'gzip', { threshold: 0 })).text, '')
})

Deno.test('compress weakens the ETag and drops what no longer holds', async () => {
  const drop = {
    'content-length': `${TEXT.length}`,
    'accept-ranges': 'bytes',
    'content-digest': 'sha-256=:x:',
  }
  const { headers } = await get((ctx) => ctx.send.text(TEXT, { headers: { ...drop, etag: '"abc"' } }))
  assertEquals(headers.get('etag'), 'W/"abc"')
  for (const name of Object.keys(drop)) assertEquals(headers.get(name), null, name)
  const weak = await get((ctx) => ctx.send.text(TEXT, { headers: { etag: 'W/"abc"' } }))
  assertEquals(weak.headers.get('etag'), 'W/"abc"')
})

Deno.test('compress adds to the Vary that is there, once', async () => {
  const { headers } = await get((ctx) =>
    ctx.send.text(TEXT, { headers: { vary: 'Cookie, accept-encoding' } })
  )
  assertEquals(headers.get('vary'), 'Cookie, accept-encoding')
})

Deno.test('compress keeps status and cookies, and passes what has no body', async () => {
  const { headers, text } = await get((ctx) =>
    ctx.set.cookie('a', '1').cookie('b', '2') && ctx.send.json([TEXT])
  )
  assertEquals(headers.getSetCookie().length, 2)
  assertEquals(text, JSON.stringify([TEXT]))
  assertEquals((await get((ctx) => ctx.send.empty())).headers.get('content-encoding'), null)
})

Deno.test('compress compresses error pages', async () => {
  const { headers, text } = await get((ctx) => ctx.send.text(TEXT, { status: 500 }), 'gzip')
  assertEquals([headers.get('content-encoding'), text], ['gzip', TEXT])
})

Deno.test('compress gives HEAD the headers of GET and no body', async () => {
  const init = { method: 'HEAD' }
  const { headers, bytes } = await get(
    (ctx) => ctx.send.text(TEXT, { headers: { etag: '"a"' } }),
    'gzip',
    {},
    init,
  )
  assertEquals(bytes.length, 0)
  assertEquals([headers.get('content-encoding'), headers.get('content-length'), headers.get('etag')], [
    'gzip',
    null,
    'W/"a"',
  ])
  const small = await get((ctx) => ctx.send.text('small'), 'gzip', {}, init)
  assertEquals(small.headers.get('content-encoding'), null)
  const streamed = await get(
    (ctx) => ctx.send.stream([TEXT], { headers: { 'content-type': 'text/a' } }),
    'br',
    {},
    init,
  )
  assertEquals([streamed.headers.get('content-encoding'), streamed.bytes.length], ['br', 0])
})

Deno.test('compress asks filter for the media type', async () => {
  const filter = (mediaType: string) => mediaType === 'image/png'
  const init = { headers: { 'content-type': 'Image/PNG; x=y' } }
  assertEquals(
    (await get((ctx) => ctx.send.text(TEXT, init), 'br', { filter })).headers.get('content-encoding'),
    'br',
  )
  assertEquals(
    (await get((ctx) => ctx.send.text(TEXT), 'br', { filter })).headers.get('content-encoding'),
    null,
  )
})

for (
  const type of [
    'application/json',
    'application/problem+json',
    'image/svg+xml',
    'text/css',
    'application/wasm',
  ]
) {
  Deno.test(`compress finds ${type} worth it`, async () => {
    const { headers } = await get((ctx) => ctx.send.text(TEXT, { headers: { 'content-type': type } }))
    assertEquals(headers.get('content-encoding'), 'br')
  })
}

for (const coding of ['br', 'gzip']) {
  Deno.test(`compress by ${coding} sends each part of a slow page as it is made`, async () => {
    const gate = Promise.withResolvers<void>()
    const page = async function* () {
      yield 'first part, short'
      await gate.promise
      yield 'second part'
    }
    const site = makeSite([
      compress(),
      answer((ctx) => ctx.send.stream(page(), { headers: { 'content-type': 'text/html' } })),
    ])
    const response = await site.ask('/', { headers: { 'accept-encoding': coding } })
    assertEquals(response.headers.get('content-encoding'), coding)
    const plain = response.body!.pipeThrough(new DecompressionStream(FORMATS[coding]))
      .pipeThrough(new TextDecoderStream())
    let text = ''
    for await (const part of plain) {
      text += part
      if (text === 'first part, short') gate.resolve()
    }
    assertEquals(text, 'first part, shortsecond part')
  })
}

Deno.test('compress closes the source when the client goes away', async () => {
  const closed = Promise.withResolvers<void>()
  const page = async function* () {
    try {
      while (true) {
        yield TEXT
        await Promise.resolve()
      }
    } finally {
      closed.resolve()
    }
  }
  const site = makeSite([
    compress(),
    answer((ctx) => ctx.send.stream(page(), { headers: { 'content-type': 'text/a' } })),
  ])
  const response = await site.ask('/', { headers: { 'accept-encoding': 'gzip' } })
  const reader = response.body!.getReader()
  await reader.read()
  await reader.cancel()
  await closed.promise
})

Deno.test('compress sends the head of a response whose body is not there yet', async () => {
  const gate = Promise.withResolvers<void>()
  const page = async function* () {
    await gate.promise
    yield TEXT
  }
  const site = makeSite([
    compress(),
    answer((ctx) => ctx.send.stream(page(), { headers: { 'content-type': 'text/a' } })),
  ])
  const response = await site.ask('/', { headers: { 'accept-encoding': 'gzip' } })
  assertEquals(response.headers.get('content-encoding'), 'gzip')
  gate.resolve()
  assertEquals(await new Response(response.body!.pipeThrough(new DecompressionStream('gzip'))).text(), TEXT)
})

Deno.test('compress breaks off when its source does', async () => {
  const page = function* () {
    yield TEXT
    throw new Error('lost')
  }
  const site = makeSite([
    compress(),
    answer((ctx) => ctx.send.stream(page(), { headers: { 'content-type': 'text/a' } })),
  ])
  const response = await site.ask('/', { headers: { 'accept-encoding': 'gzip' } })
  await assertRejects(() => response.bytes(), Error, 'lost')
})

Deno.test('peekBody gives every byte back, whatever the chunks', async () => {
  for (const chunks of [[], [3], [0, 5], [4, 4], [10], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]) {
    const total = chunks.reduce((sum, size) => sum + size, 0)
    const source = ReadableStream.from(chunks.map((size) => new Uint8Array(size).fill(7)))
    const body = await peekBody(source, 8)
    assertEquals(body instanceof Uint8Array, total < 8, `${chunks}`)
    assertEquals(await new Response(body).bytes(), new Uint8Array(total).fill(7))
  }
})

Deno.test('chooseEncoding agrees with the standard library wherever weights differ', () => {
  let seed = 7
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648
  for (let round = 0; round < 500; round++) {
    const names = ['br', 'gzip', 'deflate', '*'].filter(() => random() < 0.6)
    const weights = names.map((_, index) => (index + 1) / 10).sort(() => random() - 0.5)
    const header = names.map((name, index) => `${name};q=${weights[index]}`).join(', ')
    if (header === '') continue
    const request = { headers: new Headers({ 'accept-encoding': header }) }
    const supported = ['br', 'gzip']
    if (names.includes('*') && !(names.includes('br') || names.includes('gzip'))) continue
    const wanted = acceptsEncodings(request, ...supported)
    const star = weights[names.indexOf('*')] ?? 0
    const unnamed = supported.some((name) => !names.includes(name) && star > 0)
    if (!unnamed) assertEquals(chooseEncoding(header, supported), wanted, header)
  }
})

for (
  const [header, expected] of [
    ['*', 'br'],
    ['*;q=0', undefined],
    ['gzip;q=1.0, *;q=0', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP ; Q=0.8', 'gzip'],
    ['br;q=2', undefined],
    ['br;q=abc, gzip;q=0.1', 'gzip'],
    [',,gzip,', 'gzip'],
    ['br, identity;q=0', 'br'],
  ] as const
) {
  Deno.test(`chooseEncoding reads "${header}" as ${expected}`, () => {
    assertEquals(chooseEncoding(header, ['br', 'gzip']), expected)
  })
}

Deno.test('compress checks its options', () => {
  assertRefused(() => compress({ encodings: [] }), TypeError, 'Cannot make compress: encodings is []')
  assertRefused(() => compress({ encodings: ['zstd' as 'br'] }), TypeError, 'encodings is [ "zstd" ]')
  assertRefused(() => compress({ threshold: -1 }), RangeError, 'threshold is -1')
  assertRefused(() => compress({ filter: /text/ as never }), TypeError, 'filter is /text/, want a function')
})
