import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from '@std/assert'
import { join } from '@std/path'
import { Engine, TemplateError } from '../../src/dve/mod.ts'

const ROWS = '<table>{{#each rows as row}}<tr><td>{{ @index }}</td><td>{{ row }}</td></tr>{{/each}}</table>'

function row(i: number): string {
  return `<tr><td>${i}</td><td>row ${i}</td></tr>`
}

Deno.test('a stream of 100 000 rows never runs ahead of its slow reader', async () => {
  let made = 0
  let closed = false
  function* rows(): Generator<string> {
    try {
      for (; made < 100_000; made++) yield `row ${made}`
    } finally {
      closed = true
    }
  }
  const reader = new Engine().compile(ROWS).stream({ rows: rows() }).getReader()
  await new Promise((resolve) => setTimeout(resolve, 5))
  assertEquals(made, 0, 'nothing runs before the first read')
  const decoder = new TextDecoder()
  let text = ''
  let chunks = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
    assert(value.length < 20_000, `a chunk has ${value.length} bytes`)
    if (++chunks % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    const read = text.lastIndexOf('row ')
    const rowsRead = read < 0 ? 0 : parseInt(text.slice(read + 4))
    assert(made - rowsRead <= 2, `made ${made} rows while ${rowsRead} are read`)
  }
  assertEquals(made, 100_000)
  assertEquals(closed, true)
  assert(chunks > 100, `${chunks} chunks`)
  assert(text.startsWith(`<table>${row(0)}${row(1)}`) && text.endsWith(`${row(99_999)}</table>`))
})

Deno.test('cancel stops rendering and closes the generator', async () => {
  let made = 0
  let closed = false
  function* rows(): Generator<number> {
    try {
      for (;; made++) yield made
    } finally {
      closed = true
    }
  }
  const reader = new Engine({ maxIterations: 1e9, maxRenderIterations: 1e9 }).compile(ROWS).stream({
    rows: rows(),
  })
    .getReader()
  await reader.read()
  await reader.read()
  await reader.cancel()
  const before = made
  assertEquals(closed, true)
  await new Promise((resolve) => setTimeout(resolve, 5))
  assertEquals(made, before)
})

Deno.test('an async generator is awaited row by row, and what is there is sent before the wait', async () => {
  let release = (): void => {}
  let closed = false
  async function* rows(): AsyncGenerator<string> {
    try {
      yield 'a'
      await new Promise<void>((resolve) => release = resolve)
      yield 'b'
    } finally {
      closed = true
    }
  }
  const source = '<{{#each rows as row, i}}{{ i }}{{ row }}{{else}}none{{/each}}>'
  const reader = new Engine().compile(source).stream({ rows: rows() }).getReader()
  const decoder = new TextDecoder()
  assertEquals(decoder.decode((await reader.read()).value), '<')
  assertEquals(decoder.decode((await reader.read()).value), '0a')
  const next = reader.read()
  await new Promise((resolve) => setTimeout(resolve, 1))
  release()
  let text = decoder.decode((await next).value)
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value)
  }
  assertEquals(text, '1b>')
  assertEquals(closed, true)
})

Deno.test('cancel while an async generator is awaited closes it', async () => {
  const closed = Promise.withResolvers<void>()
  let release = (): void => {}
  async function* rows(): AsyncGenerator<string> {
    try {
      await new Promise<void>((resolve) => release = resolve)
      yield 'never'
    } finally {
      closed.resolve()
    }
  }
  const reader = new Engine().compile(ROWS).stream({ rows: rows() }).getReader()
  await reader.read()
  const pending = reader.read()
  await new Promise((resolve) => setTimeout(resolve, 1))
  await reader.cancel()
  release()
  assertEquals((await pending).done, true)
  await closed.promise
})

Deno.test('@last of a generator is known, by reading one item ahead', async () => {
  function* sync(): Generator<number> {
    yield 1
    yield 2
  }
  async function* later(): AsyncGenerator<number> {
    await Promise.resolve()
    yield 1
    yield 2
  }
  const template = new Engine().compile(
    '{{#each a}}{{ item }}{{ @first }}{{ @last }}[{{ @length }}] {{/each}}',
  )
  for (const a of [sync(), later()]) {
    assertEquals(await new Response(template.stream({ a })).text(), '1truefalse[] 2falsetrue[] ')
  }
})

Deno.test('an async generator needs a stream', () => {
  async function* rows(): AsyncGenerator<number> {
    yield await Promise.resolve(1)
  }
  assertThrows(() => new Engine().compile(ROWS).render({ rows: rows() }), TemplateError, 'async generator')
})

Deno.test('a late failure breaks the stream off and tells the hook', async () => {
  const errors: unknown[] = []
  const engine = new Engine({
    filters: {
      fuse(value) {
        if (value === 5000) throw new Error('burnt')
        return value
      },
    },
    on: { error: ({ error }) => errors.push(error) },
  })
  let closed = false
  function* rows(): Generator<number> {
    try {
      for (let i = 0;; i++) yield i
    } finally {
      closed = true
    }
  }
  const reader = engine.compile('a{{#each rows as x}}<p>{{ x | fuse }}</p>{{/each}}').stream({ rows: rows() })
    .getReader()
  let bytes = 0
  const error = await assertRejects(
    async () => {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        bytes += value.length
      }
    },
    TemplateError,
    'burnt',
  )
  assert(bytes > 16_000, `${bytes} bytes came before`)
  assertEquals(errors, [error])
  assertEquals(closed, true)
})

Deno.test('what an async generator throws breaks the stream off, with its place', async () => {
  async function* rows(): AsyncGenerator<number> {
    yield await Promise.resolve(1)
    throw new Error('database gone')
  }
  const stream = new Engine().compile('x\n{{#each rows}}{{ item }}{{/each}}').stream({ rows: rows() })
  const error = await new Response(stream).text().catch((caught) => caught)
  assertInstanceOf(error, TemplateError)
  assertEquals([error.line, error.column], [2, 1])
})

Deno.test('a stream flushes before and after loops and behind includes', async () => {
  const viewsDir = await Deno.makeTempDir()
  try {
    await Deno.writeTextFile(join(viewsDir, 'part.dve'), 'P')
    await Deno.writeTextFile(join(viewsDir, 'page.dve'), 'a{{#each l}}{{ item }}{{/each}}b{{> part}}c')
    const chunks: string[] = []
    const stream = new Engine({ viewsDir }).stream('page', { l: [1, 2] }).pipeThrough(new TextDecoderStream())
    for await (const chunk of stream) chunks.push(chunk)
    assertEquals(chunks, ['a', '12', 'bP', 'c'])
  } finally {
    await Deno.remove(viewsDir, { recursive: true })
  }
})

Deno.test('a page that cannot be compiled fails before the stream begins', () => {
  assertThrows(
    () => new Engine({ viewsDir: 'no-such-folder' }).stream('page'),
    TemplateError,
    'no-such-folder',
  )
})

Deno.test('a surrogate pair that two values make is not torn by a chunk', async () => {
  const template = new Engine().compile('{{#each a as x}}{{ x }}{{/each}}')
  const stream = template.stream({ a: ['\ud83d', '\ude00', 'x'] }, { chunkSize: 1 })
  assertEquals(await new Response(stream).text(), '😀x')
})
