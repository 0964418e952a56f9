/** Streams as arguments and values of calls, between a program and the host. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import { encodeValue, joinMessage } from '../../src/values/encode.ts'
import { caller } from '../../src/reach/calls/caller.ts'
import { MAX_STREAMS, WINDOW } from '../../src/reach/calls/protocol.ts'
import { hostile, join, settle } from './pair.ts'

/** Gives these chunks when it is asked, and counts. */
function source(chunks: Iterable<unknown>) {
  const state = { given: 0, cancelled: undefined as unknown }
  const iterator = chunks[Symbol.iterator]()
  const stream = new ReadableStream<unknown>({
    pull(controller) {
      const { value, done } = iterator.next()
      if (done) return controller.close()
      state.given++
      controller.enqueue(value)
    },
    cancel: (reason) => void (state.cancelled = reason),
  }, { highWaterMark: 0 })
  return { stream, state }
}

function* endless(bytes = 10_000): Generator<Uint8Array> {
  for (;;) yield new Uint8Array(bytes)
}

async function sizeOf(stream: ReadableStream<unknown>): Promise<number> {
  let size = 0
  for await (const chunk of stream) size += (chunk as Uint8Array).length
  return size
}

const all = (stream: ReadableStream<unknown>) => Array.fromAsync(stream)

/** The document of arguments, of which `number` is a stream. */
function streamArgs(...numbers: unknown[]): Uint8Array<ArrayBuffer> {
  const nodes = numbers.map((number) => ['x', number])
  const text = JSON.stringify([[0], ['a', ...numbers.map((_, at) => [at + 1])], ...nodes])
  return new TextEncoder().encode(text)
}

Deno.test('bytes and values go through, either way, and both at once', async () => {
  const { env } = join({
    SIZE: sizeOf,
    LIST: (stream: ReadableStream<unknown>) => all(stream),
    COUNT: (to: number) => ReadableStream.from(Array.from({ length: to }, (_, at) => ({ at, big: 2n }))),
    BYTES: (count: number) =>
      ReadableStream.from(Array.from({ length: count }, () => new Uint8Array(50_000))),
    TWICE: ({ one, two }: Record<string, ReadableStream<unknown>>) => Promise.all([all(one!), all(two!)]),
    ECHO: (stream: ReadableStream<unknown>) => stream,
    PAIR: () => ({ name: 'pair', streams: [ReadableStream.from(['a']), ReadableStream.from(['b', 'c'])] }),
  })
  assertEquals(await env.SIZE(source(Array(100).fill(new Uint8Array(70_000))).stream), 7_000_000)
  const values = [1, 'two', undefined, null, new Date(3), new Map([[4, [5]]]), new Uint16Array([6])]
  assertEquals(await env.LIST(source(values).stream), values)
  assertEquals((await all(await env.COUNT(3))).at(-1), { at: 2, big: 2n })
  assertEquals(await sizeOf(await env.BYTES(100)), 5_000_000)
  assertEquals(await env.TWICE({ one: source('ab').stream, two: source('cde').stream }), [
    ['a', 'b'],
    ['c', 'd', 'e'],
  ])
  assertEquals(
    await all(await env.ECHO(source(Array(300).fill('x'.repeat(5000))).stream)),
    Array(300).fill('x'.repeat(5000)),
  )
  const pair = await env.PAIR()
  assertEquals([pair.name, await all(pair.streams[0]), await all(pair.streams[1])], ['pair', ['a'], [
    'b',
    'c',
  ]])
  // Places come back.
  for (let time = 0; time < 3 * MAX_STREAMS; time++) {
    assertEquals(await env.LIST(source('a').stream), ['a'])
    assertEquals((await all(await env.COUNT(1))).length, 1)
  }
})

Deno.test('who does not read is sent no more than a window', async () => {
  const sent = source(endless())
  const given = source(endless())
  const { env, end } = join({
    HOLD: async (stream: ReadableStream<unknown>) => {
      const reader = stream.getReader()
      await reader.read()
      await new Promise(() => {})
    },
    GIVE: () => given.stream,
  })
  env.HOLD(sent.stream)
  const held = (await env.GIVE()).getReader()
  await held.read()
  await settle()
  for (const { state } of [sent, given]) {
    assert(state.given > 5 && state.given <= WINDOW / 10_000 + 4, `${state.given}`)
  }
  end()
  await settle()
  assertEquals((given.state.cancelled as Error).message, 'The request has ended')
})

Deno.test('cancelling reaches the other side, either way', async () => {
  const sent = source(endless())
  const given = source(endless())
  const { env } = join({
    FIRST: async (stream: ReadableStream<unknown>) => {
      for await (const chunk of stream) return (chunk as Uint8Array).length
    },
    IGNORES: () => 'ignored',
    GIVE: () => given.stream,
    FAILS: () => {
      throw new RangeError('no')
    },
  })
  assertEquals(await env.FIRST(sent.stream), 10_000)
  await settle()
  assert(sent.state.cancelled instanceof DOMException)
  const reader = (await env.GIVE()).getReader()
  await reader.read()
  await reader.cancel()
  await settle()
  assert(given.state.cancelled instanceof DOMException)
  for (const name of ['IGNORES', 'FAILS']) {
    const other = source(endless())
    await env[name](other.stream).catch(() => {})
    await settle()
    assert(other.state.cancelled instanceof DOMException, name)
  }
})

Deno.test('an error of a stream is one on the other side, and tells no more than its words', async () => {
  const breaks = (error: unknown) =>
    new ReadableStream({
      pull(controller) {
        controller.error(error)
      },
    }, { highWaterMark: 0 })
  const { env } = join({
    READ: async (stream: ReadableStream<unknown>) => {
      try {
        return await all(stream)
      } catch (error) {
        return `${(error as Error).name}: ${(error as Error).message}`
      }
    },
    GIVE: () => breaks(Object.assign(new RangeError('broken'), { secret: 'x', cause: new Error('hidden') })),
    LARGE: () => ReadableStream.from(['x'.repeat(1 << 21)]),
    FUNCTION: () => ReadableStream.from([() => {}]),
  })
  assertEquals(await env.READ(breaks(new TypeError('mine'))), 'TypeError: mine')
  assertEquals(await env.READ(breaks(() => {})), 'Error: The stream broke off')
  const error = await assertRejects(async () => await all(await env.GIVE()), RangeError, 'broken')
  assertEquals([error.cause, 'secret' in error, error.stack], [undefined, false, 'RangeError: broken'])
  await assertRejects(async () => await all(await env.LARGE()), RangeError, 'want at most 1048576')
  await assertRejects(async () => await all(await env.FUNCTION()))
})

Deno.test('an AbortSignal ends the call and its streams on both sides', async () => {
  const sent = source(endless())
  const seen: unknown[] = []
  const { env } = join({
    HOLD: async (stream: ReadableStream<unknown>) => {
      caller()!.signal.addEventListener('abort', () => seen.push('signal'))
      try {
        const reader = stream.getReader()
        for (;;) await reader.read().then(() => new Promise((done) => setTimeout(done, 1)))
      } catch (error) {
        seen.push((error as Error).name)
      }
    },
  })
  const controller = new AbortController()
  const call = env.HOLD(sent.stream, { signal: controller.signal })
  await settle()
  controller.abort(new Error('enough'))
  await assertRejects(() => call, Error, 'enough')
  await settle()
  assertEquals(seen, ['signal', 'AbortError'])
  assertEquals((sent.state.cancelled as Error).message, 'enough')
})

Deno.test('streams are bounded on both sides, and a locked one is none', async () => {
  const { env } = join({
    HOLD: () => new Promise(() => {}),
    MANY: (count: number) => Array.from({ length: count }, () => ReadableStream.from(['a'])),
    ONE: () => ReadableStream.from(['a']),
  })
  const locked = source('a').stream
  locked.getReader()
  await assertRejects(() => env.HOLD(locked), TypeError)
  const many = Array.from({ length: MAX_STREAMS + 1 }, () => source('a'))
  await assertRejects(() => env.HOLD(many.map(({ stream }) => stream)), RangeError, 'want at most that')
  await settle()
  for (const { state } of many.slice(0, MAX_STREAMS)) assert(state.cancelled instanceof RangeError)
  await assertRejects(() => env.MANY(MAX_STREAMS + 1), TypeError, 'want at most that')
  assertEquals(await all(await env.ONE()), ['a'])
  env.HOLD(many.slice(0, 0), ...Array.from({ length: MAX_STREAMS }, () => source('a').stream))
  await assertRejects(() => env.HOLD(source('a').stream), RangeError, 'want at most that')
})

Deno.test('a program that names streams as it likes is refused, and none stays open', async () => {
  const calls: unknown[][] = []
  const { hear, said, conversation } = hostile({ A: (...args: unknown[]) => void calls.push(args) })
  const odd = [[0], [2], [7], [9, 9], [-1], ['9'], [1.5], [2 ** 40], [null]]
  for (const [at, numbers] of odd.entries()) {
    hear(7, ['call', 'A', null], streamArgs(...numbers))
    await settle()
    assertEquals([said.at(-1)!.id, said.at(-1)!.head], [7, ['error']], `${at}`)
  }
  assertEquals(calls, [])
  for (let time = 0; time < 100; time++) {
    hear(
      101 + 2 * time,
      ['call', 'A', null],
      streamArgs(...Array.from({ length: MAX_STREAMS + 1 }, (_, at) => 1001 + 2 * at)),
    )
  }
  await settle()
  assertEquals(calls, [])
  hear(9, ['call', 'A', null], streamArgs(11))
  await settle()
  assertEquals(calls.length, 1)
  conversation.end()
})

Deno.test('what a program says of a stream beyond the rules breaks that stream alone', async () => {
  const deeds: [string, (hear: ReturnType<typeof hostile>['hear']) => void][] = [
    ['more than its window', (hear) => {
      for (let at = 0; at < 40; at++) hear(11, ['piece'], new Uint8Array(1 << 16))
    }],
    ['a large piece', (hear) => hear(11, ['piece'], new Uint8Array(1 << 20))],
    ['a piece of nothing', (hear) => hear(11, ['piece'])],
    ['a chunk that is none', (hear) => hear(11, ['chunk'], 'no value')],
    ['a verb', (hear) => hear(11, ['dance'])],
    ['no head', (hear) => hear(11, 'no JSON')],
    ['an error that is none', (hear) => hear(11, ['error'], '[["x"')],
    [
      'an error that is no error',
      (hear) => hear(11, ['error'], joinMessage(encodeValue(7, { stacks: false }))),
    ],
    ['credit of its own', (hear) => hear(11, ['more', 1e9])],
  ]
  for (const [name, deed] of deeds) {
    let failure: unknown = null
    const { hear, said } = hostile({
      A: async (stream: ReadableStream<unknown>) => {
        await settle()
        try {
          return (await all(stream)).length
        } catch (error) {
          failure = error
          return 'failed'
        }
      },
      B: () => 'fine',
    })
    hear(9, ['call', 'A', null], streamArgs(11))
    deed(hear)
    // Behind its end.
    for (let time = 0; time < 1000; time++) hear(11, ['piece'], 'x')
    hear(11, ['end'])
    hear(11, ['cancel'])
    await settle()
    await settle()
    assert(failure instanceof Error, name)
    hear(21, ['call', 'B', null], joinMessage(encodeValue([], { stacks: false })))
    await settle()
    assertEquals(said.findLast(({ id }) => id === 21)!.head, ['value'], name)
  }
})

Deno.test('ten thousand streams that nobody drains, and as many pieces of unknown ones, hold what is bounded', async () => {
  const streams: ReadableStream<unknown>[] = []
  let pulled = 0
  const { hear, said, conversation } = hostile({
    TAKE: (stream: ReadableStream<unknown>) => {
      const reader = stream.getReader()
      streams.push(stream)
      return reader.closed.then(() => {}, () => {})
    },
    GIVE: () =>
      new ReadableStream({
        pull(controller) {
          pulled++
          controller.enqueue(new Uint8Array(1 << 16))
        },
      }, { highWaterMark: 0 }),
  })
  const none = joinMessage(encodeValue([], { stacks: false }))
  for (let at = 0; at < 10_000; at++) {
    const id = 1 + 4 * at
    hear(id, ['call', 'TAKE', null], streamArgs(id + 2))
    hear(id + 2, ['piece'], new Uint8Array(100))
    hear(2 * at, ['piece'], 'x')
    hear(2 * at, ['more', 1 << 16])
  }
  await settle()
  assertEquals(streams.length, MAX_STREAMS)
  for (let at = 0; at < 200; at++) hear(100_001 + 2 * at, ['call', 'GIVE', null], none)
  await settle()
  await settle()
  assert(pulled <= MAX_STREAMS * (WINDOW / (1 << 16) + 2), `${pulled}`)
  assert(said.length < 12_000)
  conversation.end()
  await settle()
  for (const stream of streams) assert(stream.locked)
})
