import { assert, assertEquals } from '@std/assert'
import type { LifecycleEvent } from '@mayfly/mayfly'
import { until } from '../until.ts'
import { type Case, checkResponse, testCases, testSite } from './cases.ts'
import { connect, exchange, toChunked, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

const LIMIT = 1000
const rejected: LifecycleEvent<'body:rejected'>[] = []
const site = defineSite({
  maxBodyBytes: LIMIT,
  setup: (router) => router.on('body:rejected', (event) => void rejected.push(event)),
})

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }
const MULTIPART_TYPE = { 'content-type': 'multipart/form-data; boundary=xyz' }
const MULTIPART = [
  '--xyz',
  'Content-Disposition: form-data; name="a"',
  '',
  '1',
  '--xyz',
  'Content-Disposition: form-data; name="f"; filename="x.txt"',
  'Content-Type: text/plain',
  '',
  'in the file',
  '--xyz--',
  '',
].join('\r\n')

/** A case for POST /body/FORMAT. */
function post(
  name: string,
  format: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  wanted: Omit<Case, 'name' | 'request' | 'headers' | 'body'>,
): Case {
  return { name, request: `POST /body/${format}`, headers, body, ...wanted }
}

testCases('json()', site, [
  post('parses an object', 'json', JSON_TYPE, '{"a":[1,null]}', { status: 200, json: { a: [1, null] } }),
  post('parses a lone value', 'json', JSON_TYPE, ' 7 ', { status: 200, json: 7 }),
  post('does not mind another type', 'json', { 'content-type': 'text/plain' }, '{}', {
    status: 200,
    json: {},
  }),
  post('malformed is 400', 'json', JSON_TYPE, '{"a":', { status: 400, text: /Malformed JSON body/ }),
  post('a trailing comma is 400', 'json', JSON_TYPE, '[1,]', { status: 400 }),
  post('two documents are 400', 'json', JSON_TYPE, '{}{}', { status: 400 }),
  post('NaN is 400', 'json', JSON_TYPE, 'NaN', { status: 400 }),
  post('malformed by the wrong encoding is 400', 'json', JSON_TYPE, new Uint8Array([0xff, 0xfe, 0x7b]), {
    status: 400,
  }),
  post('an empty body is 400', 'json', JSON_TYPE, '', { status: 400, text: /it is empty/ }),
  post('a problem document for who wants JSON', 'json', { ...JSON_TYPE, accept: 'application/json' }, '{', {
    status: 400,
    has: { 'content-type': 'application/problem+json' },
    text: /^\{"type":"about:blank","title":"Bad Request","status":400,"detail":"Malformed JSON body: /,
  }),
  post('keeps __proto__ as an own name', 'pollution', JSON_TYPE, '{"__proto__":{"polluted":1}}', {
    status: 200,
    json: { own: ['__proto__'], polluted: null },
  }),
])

testCases('text()', site, [
  post('gives the text', 'text', { 'content-type': 'text/plain' }, 'a € 🦋', { status: 200, json: 'a € 🦋' }),
  post('replaces malformed UTF-8', 'text', {}, new Uint8Array([97, 0xff, 98]), {
    status: 200,
    json: 'a\ufffdb',
  }),
  post('is empty without a body', 'text', {}, '', { status: 200, json: '' }),
  { name: 'is empty for GET, as fetch has it', request: 'GET /body/text', body: 'x', status: 200, json: '' },
])

testCases('formData()', site, [
  post('urlencoded', 'form', FORM_TYPE, 'a=1&b=%20x+y&a=2&empty=', {
    status: 200,
    json: [['a', '1'], ['b', ' x y'], ['a', '2'], ['empty', '']],
  }),
  post(
    'urlencoded with a charset',
    'form',
    { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' },
    'a=%C3%BC',
    {
      status: 200,
      json: [['a', 'ü']],
    },
  ),
  post('urlencoded and empty', 'form', FORM_TYPE, '', { status: 200, json: [] }),
  post('multipart with a file', 'form', MULTIPART_TYPE, MULTIPART, {
    status: 200,
    json: [['a', '1'], ['f', 'x.txt', 'text/plain', 'in the file']],
  }),
  post('the type in capitals', 'form', { 'content-type': 'Multipart/Form-Data; boundary=xyz' }, MULTIPART, {
    status: 200,
    text: /in the file/,
  }),
  post('multipart without its end is 400', 'form', MULTIPART_TYPE, MULTIPART.slice(0, 100), {
    status: 400,
    text: /Malformed form body/,
  }),
  post('multipart without a boundary is 400', 'form', { 'content-type': 'multipart/form-data' }, MULTIPART, {
    status: 400,
  }),
  post(
    'multipart of another boundary is 400',
    'form',
    { 'content-type': 'multipart/form-data; boundary=abc' },
    MULTIPART,
    {
      status: 400,
    },
  ),
  post('JSON is 415', 'form', JSON_TYPE, '{}', { status: 415, text: /application\/json/ }),
  post('no type is 415', 'form', {}, 'a=1', { status: 415 }),
  post('a type that only begins like one is 415', 'form', { 'content-type': 'multipart/form-datax' }, 'a=1', {
    status: 415,
  }),
])

testCases('bytes(), blob(), body()', site, [
  post('bytes are bytes', 'bytes', {}, new Uint8Array([0, 255, 10, 13]), {
    status: 200,
    json: [0, 255, 10, 13],
  }),
  post('a blob has the type', 'blob', { 'content-type': 'image/x' }, 'abc', {
    status: 200,
    json: { type: 'image/x', size: 3, text: 'abc' },
  }),
  post('body() of JSON', 'any', JSON_TYPE, '{"a":1}', { status: 200, json: { a: 1 } }),
  post(
    'body() of problem+json',
    'any',
    { 'content-type': 'application/problem+json; charset=utf-8' },
    '{"a":1}',
    {
      status: 200,
      json: { a: 1 },
    },
  ),
  post('body() of malformed JSON is 400', 'any', JSON_TYPE, '{', { status: 400 }),
  post('body() of a form', 'any', FORM_TYPE, 'a=1&b=2&a=3', { status: 200, json: { a: ['1', '3'], b: '2' } }),
  post('body() of a form has a null prototype', 'pollution', FORM_TYPE, '__proto__=x&constructor=y', {
    status: 200,
    json: { own: ['__proto__', 'constructor'], polluted: null },
  }),
  post('body() of text', 'any', { 'content-type': 'text/csv' }, 'a;b', { status: 200, json: 'a;b' }),
  post('body() without a type is text', 'any', {}, 'a', { status: 200, json: 'a' }),
  post('body() of anything else is bytes', 'any', { 'content-type': 'image/png' }, 'ab', {
    status: 200,
    json: { bytes: [97, 98] },
  }),
  post('body() without a body is undefined', 'any', {}, '', { status: 200, json: 'undefined' }),
])

testCases('a body read twice', site, [
  post('JSON, then text', 'json-text', JSON_TYPE, '{"a":1}', { status: 200, json: [{ a: 1 }, '{"a":1}'] }),
  post('text, then JSON', 'text-json', JSON_TYPE, '[1]', { status: 200, json: ['[1]', [1]] }),
  post('a form, then text', 'form-text', FORM_TYPE, 'a=1', { status: 200, json: [[['a', '1']], 'a=1'] }),
  post('JSON is parsed once', 'json-json', JSON_TYPE, '{}', { status: 200, json: true }),
  post('four formats at once', 'all-at-once', JSON_TYPE, '[1]', { status: 200, json: ['[1]', [1], 3, 3] }),
  post('bytes are a copy', 'bytes-changed', {}, 'abc', { status: 200, json: 'abc' }),
  post('text after malformed JSON', 'text-after-failure', JSON_TYPE, '{', {
    status: 200,
    json: 'not JSON: {',
  }),
])

for (const format of ['text', 'bytes', 'any', 'blob']) {
  testCases(`the limit of ${LIMIT} bytes, ${format}`, site, [
    ...[LIMIT - 1, LIMIT].map((size) =>
      post(`declared ${size} pass`, format, {}, 'a'.repeat(size), { status: 200 })
    ),
    post(`declared ${LIMIT + 1} are 413`, format, {}, 'a'.repeat(LIMIT + 1), {
      status: 413,
      text: /1000 bytes/,
    }),
    ...[LIMIT - 1, LIMIT, LIMIT + 1].flatMap((size) =>
      [7, 400, 5000].map((chunk) =>
        post(
          `${size} in chunks of ${chunk} ${size > LIMIT ? 'are 413' : 'pass'}`,
          format,
          { 'transfer-encoding': 'chunked' },
          toChunked('a'.repeat(size), chunk),
          { status: size > LIMIT ? 413 : 200 },
        )
      )
    ),
  ])
}

testCases('the limit', site, [
  post('counts bytes, not characters', 'text', {}, 'ü'.repeat(501), { status: 413 }),
  post('holds for a form', 'form', FORM_TYPE, `a=${'x'.repeat(999)}`, { status: 413 }),
  post(
    'holds for a chunked form',
    'form',
    { ...FORM_TYPE, 'transfer-encoding': 'chunked' },
    toChunked('a'.repeat(1001), 99),
    {
      status: 413,
    },
  ),
  post('a form of the wrong type is refused before it is read', 'form', JSON_TYPE, 'a'.repeat(1001), {
    status: 415,
  }),
  post('does not bind who does not read', 'none', {}, 'a'.repeat(5000), { status: 200, json: 'unread' }),
  post('an empty chunked body is empty', 'text', { 'transfer-encoding': 'chunked' }, '0\r\n\r\n', {
    status: 200,
    json: '',
  }),
  post(
    'chunks with extensions and trailers',
    'text',
    { 'transfer-encoding': 'chunked' },
    '3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n',
    {
      status: 200,
      json: 'abc',
    },
  ),
])

testSite('a declared body over the limit is refused before it comes', site, async ({ address }) => {
  using connection = await connect(address)
  await connection.write('POST /body/text HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000000\r\n\r\n')
  checkResponse((await connection.read())!, { status: 413 })
})

testSite('a chunked body over the limit is refused while it comes', site, async ({ address }) => {
  using connection = await connect(address)
  await connection.write('POST /body/text HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  for (let sent = 0; sent < 12; sent++) await connection.write(`64\r\n${'a'.repeat(100)}\r\n`)
  checkResponse((await connection.read())!, { status: 413 })
})

testSite('a refused body tells body:rejected its limit and size', site, async ({ address }) => {
  rejected.length = 0
  await exchange(address, toRequest('POST /body/text', {}, 'a'.repeat(1234)))
  assertEquals(rejected.map(({ metadata }) => metadata), [{ reason: 'too large', limit: LIMIT, size: 1234 }])
})

testSite('a body that nobody reads does not spoil the next request', site, async ({ address }) => {
  using connection = await connect(address)
  const keep = { connection: 'keep-alive' }
  await connection.write(toRequest('POST /body/none', keep, 'GET /nowhere HTTP/1.1\r\n\r\n'))
  await connection.write(toRequest('POST /body/text', keep, 'second'))
  checkResponse((await connection.read())!, { status: 200, json: 'unread' })
  checkResponse((await connection.read())!, { status: 200, json: 'second' })
})

testSite(
  'a client that breaks off its upload ends that request only',
  site,
  async ({ address, errors, origin }) => {
    const before = errors.length
    for (const head of ['Content-Length: 500', 'Transfer-Encoding: chunked']) {
      const connection = await connect(address)
      await connection.write(`POST /body/text HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n`)
      await connection.write(head.startsWith('T') ? '5\r\nab' : 'abc')
      await new Promise((resolve) => setTimeout(resolve, 30))
      connection.close()
    }
    await until('the errors of two clients', () => errors.length >= before + 2)
    const messages = errors.slice(before).map(String)
    assert(messages.every((message) => message.includes('broke off')), messages.join())
    assertEquals(messages.length, 2)
    const response = await fetch(`${origin}/body/text`, { method: 'POST', body: 'alive' })
    assertEquals(await response.json(), 'alive')
  },
)

testSite('what fetch sends is read: JSON, form, multipart, stream', site, async ({ origin }) => {
  const form = new FormData()
  form.append('file', new File(['content'], 'ü.txt', { type: 'text/plain' }))
  const bodies: [string, BodyInit, unknown][] = [
    ['any', new URLSearchParams({ a: '1' }), { a: '1' }],
    ['form', form, [['file', 'ü.txt', 'text/plain', 'content']]],
    ['text', ReadableStream.from(['a', 'b']).pipeThrough(new TextEncoderStream()), 'ab'],
    ['blob', new Blob(['x'], { type: 'a/b' }), { type: 'a/b', size: 1, text: 'x' }],
  ]
  for (const [format, body, wanted] of bodies) {
    const response = await fetch(`${origin}/body/${format}`, { method: 'POST', body })
    assertEquals(await response.json(), wanted)
  }
})
