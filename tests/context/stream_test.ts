import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { type StreamOwner, toByteStream, toEventStream, toEventText } from '../../src/context/stream.ts'

function createOwner(): StreamOwner & { failures: unknown[] } {
  const failures: unknown[] = []
  return { open: new Set(), failed: (error) => void failures.push(error), failures }
}

Deno.test('toByteStream sends text and bytes in order and ends', async () => {
  const owner = createOwner()
  const stream = toByteStream(['a', new Uint8Array([98]), 'ç'], owner)
  assertEquals(await new Response(stream).text(), 'abç')
  assertEquals(owner.open.size, 0)
})

Deno.test('toByteStream pulls no further than the client reads, and closes the source when it goes', async () => {
  const owner = createOwner()
  let made = 0
  let closed = false
  const source = (async function* () {
    try {
      while (true) yield `${made++}`
    } finally {
      closed = true
    }
  })()
  const reader = toByteStream(source, owner).getReader()
  await reader.read()
  await reader.read()
  await new Promise((resolve) => setTimeout(resolve, 5))
  assertEquals(made, 2)
  await reader.cancel()
  assert(closed)
  assertEquals(owner.open.size, 0)
})

Deno.test('a source that throws breaks the stream and is reported', async () => {
  const owner = createOwner()
  const stream = toByteStream(
    (function* () {
      yield 'a'
      throw new Error('late')
    })(),
    owner,
  )
  await assertRejects(() => new Response(stream).text(), Error, 'late')
  assertEquals(owner.failures.map((error) => (error as Error).message), ['late'])
  assertEquals(owner.open.size, 0)
})

Deno.test('a cut stream breaks and closes its source', async () => {
  const owner = createOwner()
  let closed = false
  const stream = toByteStream(
    (async function* () {
      try {
        for (;;) yield 'a'
      } finally {
        closed = true
      }
    })(),
    owner,
  )
  const reader = stream.getReader()
  await reader.read()
  for (const cut of [...owner.open]) cut()
  await assertRejects(() => reader.read(), DOMException, 'shutting down')
  assert(closed)
})

Deno.test('toEventStream keeps a silent connection alive and stops its timer at the end', async () => {
  const owner = createOwner()
  let release: (() => void) | undefined
  const stream = toEventStream(
    (async function* () {
      yield 'one'
      await new Promise<void>((resolve) => release = resolve)
      yield { event: 'two', data: { n: 2 } }
    })(),
    10,
    owner,
  )
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  assertEquals((await reader.read()).value, 'data: one\n\n')
  assertEquals((await reader.read()).value, ': keep-alive\n\n')
  release!()
  let next = await reader.read()
  while (next.value === ': keep-alive\n\n') next = await reader.read()
  assertEquals(next.value, 'event: two\ndata: {"n":2}\n\n')
  assert((await reader.read()).done)
})

Deno.test('toEventStream cancelled while it waits leaves no timer', async () => {
  const owner = createOwner()
  let end: (() => void) | undefined
  const stream = toEventStream(
    (async function* () {
      await new Promise<void>((resolve) => end = resolve)
      yield 'never'
    })(),
    60_000,
    owner,
  )
  const reader = stream.getReader()
  const read = reader.read()
  await new Promise((resolve) => setTimeout(resolve, 1))
  await reader.cancel()
  assert((await read).done)
  assertEquals(owner.open.size, 0)
  end!()
})

Deno.test('toEventText writes every field and splits data into lines', () => {
  assertEquals(
    toEventText({ comment: 'c', event: 'e', id: 7, retry: 100, data: 'a\r\nb\rc\nd' }),
    ': c\nevent: e\nid: 7\nretry: 100\ndata: a\ndata: b\ndata: c\ndata: d\n\n',
  )
  assertEquals(toEventText({ data: { a: [1] } }), 'data: {"a":[1]}\n\n')
  assertEquals(toEventText(''), 'data: \n\n')
})

Deno.test('toEventText refuses line breaks in event and id', () => {
  assertThrows(() => toEventText({ event: 'a\ndata: x' }), TypeError, 'want one line')
  assertThrows(() => toEventText({ id: 'a\rb' }), TypeError, 'want one line')
})
