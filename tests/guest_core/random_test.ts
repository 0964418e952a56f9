/** Random steps over the surface of the small guest, with Deno's own as the oracle. */
import { assertEquals } from '@std/assert'
import { createSurface } from '../../native/guest-core/web/globals.ts'
import { setHost } from '../../native/guest-core/web/host.ts'
import { caught, type Web } from './cases/case.ts'
import { createDenoHost } from './host_of_deno.ts'

setHost(createDenoHost(() => {}))
const surface = createSurface() as unknown as Web
const RUNTIMES = [surface, globalThis] as const

/** Numbers below `limit`; mulberry32, so that a failure can be seen again. */
function generator(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = state + 0x6d2b79f5 | 0
    let t = Math.imul(state ^ state >>> 15, 1 | state)
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t
    return ((t ^ t >>> 14) >>> 0) % limit
  }
}

function pick<T>(random: (limit: number) => number, items: readonly T[]): T {
  return items[random(items.length)]
}

/** Bytes that begin, continue and break characters of UTF-8. */
const BYTES = [
  ...[0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef],
  ...[0xbb, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
]

Deno.test('TextDecoder: streams of random bytes, cut anywhere', () => {
  const random = generator(1)
  for (let round = 0; round < 3000; round++) {
    const fatal = random(4) === 0
    const ignoreBOM = random(4) === 0
    const chunks = Array.from(
      { length: 1 + random(5) },
      () => new Uint8Array(Array.from({ length: random(5) }, () => pick(random, BYTES))),
    )
    const [mine, wanted] = RUNTIMES.map((web) => {
      const decoder = new web.TextDecoder('utf-8', { fatal, ignoreBOM })
      const texts = chunks.map((chunk) => caught(web, () => decoder.decode(chunk, { stream: true })))
      return [...texts, caught(web, () => decoder.decode())]
    })
    // Where bytes are wrong, engines may tell it at the end of the chunk or of the stream; what comes before is the same.
    const broken = wanted.indexOf('TypeError')
    const part = (texts: unknown[]) => broken === -1 ? texts : texts.slice(0, broken + 1)
    assertEquals(part(mine), part(wanted), `round ${round}: ${chunks.map((chunk) => `[${chunk}]`)}`)
  }
})

Deno.test('Headers: random steps', () => {
  const random = generator(2)
  const names = ['a', 'A', 'b', 'Set-Cookie', 'set-cookie', 'x-long-name', 'a b', '']
  // No empty value: Deno leaves it out of the list where another follows; see standard_test.ts.
  const values = ['1', ' 2 ', '\tx', 'é', 'a,b', 'a\nb', '\u0100', 'in\tside']
  for (let round = 0; round < 500; round++) {
    const steps = Array.from({ length: 12 }, () => ({
      method: pick(random, ['append', 'set', 'delete', 'get', 'has', 'list', 'copy', 'cookies'] as const),
      name: pick(random, names),
      value: pick(random, values),
    }))
    const [mine, wanted] = RUNTIMES.map((web) => {
      let headers = new web.Headers()
      return steps.map(({ method, name, value }) =>
        caught(web, () => {
          if (method === 'list') return [...headers]
          if (method === 'cookies') return headers.getSetCookie()
          if (method === 'copy') return [...(headers = new web.Headers(headers))].length
          if (method === 'append' || method === 'set') return headers[method](name, value)
          return headers[method](name)
        })
      )
    })
    assertEquals(mine, wanted, `round ${round}`)
  }
})

Deno.test('URLSearchParams and URL: random steps', () => {
  const random = generator(3)
  const words = ['a', 'b', 'a b', 'é', '%41', '+', '&', '=', '', '#', '?', '\ud800', '/']
  for (let round = 0; round < 500; round++) {
    const query = Array.from({ length: random(4) }, () => `${pick(random, words)}=${pick(random, words)}`)
      .join('&')
    const steps = Array.from({ length: 10 }, () => ({
      method: pick(
        random,
        ['append', 'set', 'delete', 'has', 'getAll', 'sort', 'search', 'hash', 'pathname'] as const,
      ),
      name: pick(random, words),
      value: pick(random, words),
    }))
    const [mine, wanted] = RUNTIMES.map((web) => {
      const url = new web.URL(`http://a/?${query}`)
      const { searchParams } = url
      return steps.map(({ method, name, value }) => {
        if (method === 'search' || method === 'hash' || method === 'pathname') url[method] = value
        else if (method === 'sort') searchParams.sort()
        else if (method === 'append' || method === 'set') searchParams[method](name, value)
        else if (method === 'getAll') searchParams.getAll(name)
        else searchParams[method](name, value.length > 1 ? value : undefined)
        return [url.href, [...searchParams], searchParams.has(name), searchParams.size]
      })
    })
    assertEquals(mine, wanted, `round ${round}: ${query}`)
  }
})

Deno.test('FormData: what one writes, the other reads', async () => {
  const random = generator(4)
  const words = ['a', 'ü"', 'line\r\nbreak', '', '--B', '\r\n--', 'x;y=z', '😀', '%22']
  for (let round = 0; round < 200; round++) {
    const entries = Array.from({ length: random(4) }, () => ({
      name: pick(random, ['a', 'b', 'name with space', 'ü']),
      value: pick(random, words),
      file: random(2) === 0 ? pick(random, ['f.txt', 'ü.bin', 'a b']) : undefined,
    }))
    for (const [writer, reader] of [[surface, globalThis], [globalThis, surface], [surface, surface]]) {
      const form = new writer.FormData()
      for (const { name, value, file } of entries) {
        if (file === undefined) form.append(name, value)
        else form.append(name, new writer.Blob([value], { type: 'text/x' }), file)
      }
      const written = new writer.Response(form)
      const headers = { 'content-type': written.headers.get('content-type')! }
      const read = await new reader.Response(await written.bytes(), { headers }).formData()
      const got = await Promise.all(
        [...read].map(async ([name, value]) =>
          typeof value === 'string' ? [name, value] : [name, value.name, value.type, await value.text()]
        ),
      )
      const wanted = entries.map(({ name, value, file }) =>
        file === undefined ? [name, value.replace(/\r\n|\r|\n/g, '\r\n')] : [name, file, 'text/x', value]
      )
      assertEquals(got, wanted, `round ${round}`)
    }
  }
})

Deno.test('structuredClone: random graphs are what Deno makes of them', () => {
  const random = generator(5)
  const made: object[] = []
  const make = (depth: number): unknown => {
    const leaf = [
      1,
      'x',
      null,
      undefined,
      true,
      5n,
      new Date(7),
      /a/g,
      new Uint8Array([1, 2]),
      new RangeError('e'),
    ]
    const kind = depth === 0 ? 0 : random(6)
    if (kind <= 1) return pick(random, leaf)
    if (kind === 2 && made.length > 0) return pick(random, made)
    const target: object = kind === 3 ? [] : kind === 4 ? new Map() : kind === 5 ? new Set() : {}
    made.push(target)
    for (let i = 0; i < random(4); i++) {
      const member = make(depth - 1)
      if (Array.isArray(target)) target.push(member)
      else if (target instanceof Map) target.set(make(0), member)
      else if (target instanceof Set) target.add(member)
      else Object.assign(target, { [`k${i}`]: member })
    }
    return target
  }
  for (let round = 0; round < 300; round++) {
    made.length = 0
    const value = make(4)
    assertEquals(
      Deno.inspect(surface.structuredClone(value), { depth: 9 }),
      Deno.inspect(structuredClone(value), { depth: 9 }),
    )
  }
})
