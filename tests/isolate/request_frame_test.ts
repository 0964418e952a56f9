import { assertEquals, assertMatch } from '@std/assert'
import { readHead, readHeaders, SEED_DIGITS } from '../../src/isolate/guest/http/head.ts'
import type { RequestHead } from '../../src/isolate/wire/message.ts'
import { createSeed, encodeRequest } from '../../src/isolate/wire/request_frame.ts'
import { readFrame, REQUEST } from '../../src/isolate/wire/wire.ts'

Deno.test('createSeed never gives a seed twice', () => {
  const seeds = Array.from({ length: 1000 }, createSeed)
  for (const seed of seeds) assertMatch(seed, /^[0-9a-f]{64}$/)
  assertEquals(new Set(seeds).size, seeds.length)
})

Deno.test('encodeRequest gives heads of any length their own bytes', () => {
  const decoder = new TextDecoder()
  const heads = [10, 5000, 5460, 6000, 100_000].flatMap((length) =>
    ['x', 'é', '€'].map((letter): RequestHead => ({
      handler: 0,
      method: 'GET',
      url: `http://localhost/${letter.repeat(length)}`,
      path: '/',
      headers: [],
      seed: createSeed(),
    }))
  )
  // All are made before one is read: a later one must not change an earlier one.
  const frames = heads.map((head) => encodeRequest(head, new Uint8Array([1, 2])))
  frames.forEach((bytes, index) => {
    const { header, body } = readFrame(bytes, REQUEST)
    assertEquals(readHead(decoder.decode(header)).line[2], heads[index].url)
    assertEquals(body, new Uint8Array([1, 2]))
  })
})

Deno.test('a guest reads what encodeRequest wrote, whatever there is of it', () => {
  const seed = createSeed()
  const least = { handler: 3, method: 'GET', url: 'http://localhost/a', path: '/a', headers: [], seed }
  const headers = [['x-line', 'a\tb'], ['x-quote', '"\\'], ['x-wide', 'é'], ['x-wide', '']] as const
  const left = { state: { line: '\n\u2028' }, session: { data: null }, validated: { value: 0 }, status: 201 }
  const most: RequestHead = {
    ...least,
    headers,
    ip: '192.0.2.1',
    peer: '127.0.0.1',
    params: { id: '\n' },
    pending: { single: [['a', 'b']], appended: [] },
    ...left,
  }
  const cases = [
    [least, ['', ''], null],
    [most, [most.ip, most.peer], [most.params, most.pending, ...Object.values(left), null]],
    [{ ...least, params: { id: '7' } }, ['', ''], [{ id: '7' }, null, null, null, null, null, null]],
    [{ ...least, status: 404 }, ['', ''], [null, null, null, null, null, 404, null]],
    [{ ...least, hasRest: true }, ['', ''], [null, null, null, null, null, null, true]],
  ] as const
  for (const [head, addresses, extras] of cases) {
    const { header } = readFrame(encodeRequest(head), REQUEST)
    const read = readHead(new TextDecoder().decode(header))
    assertEquals<unknown>(read.line.slice(0, -1), ['3', 'GET', 'http://localhost/a', '/a', ...addresses])
    assertEquals<unknown>(read.line[6] === '' ? null : JSON.parse(read.line[6]), extras)
    assertEquals(readHeaders(read), head.headers)
    assertEquals(read.text.slice(-SEED_DIGITS), seed)
  }
})

Deno.test('what a client writes into a field ends no field', () => {
  const plain = { method: 'GET', url: 'http://localhost/a', path: '/a', ip: '192.0.2.1', peer: '127.0.0.1' }
  for (const [name, text] of Object.entries(plain)) {
    for (const mark of ['\t', '\n', '\r', '\t\t9\n[]\n']) {
      const head: RequestHead = { handler: 3, headers: [], seed: createSeed(), ...plain, [name]: text + mark }
      const { header } = readFrame(encodeRequest(head), REQUEST)
      const read = readHead(new TextDecoder().decode(header))
      const wanted = { ...plain, [name]: text + mark.replaceAll(/[\t\n\r]/g, '') }
      assertEquals(read.line, ['3', ...Object.values(wanted), ''] as never, JSON.stringify([name, mark]))
      assertEquals(readHeaders(read), [])
    }
  }
})
