import { caller } from '@mayfly/mayfly/reach'
import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from '@std/assert'
import { BINDING, toBindings } from '../../src/reach/calls/bindings.ts'
import { encodeValue, joinMessage } from '../../src/values/encode.ts'
import { hostile, join, settle } from './pair.ts'

Deno.test('a program calls functions and objects of functions of the host', async () => {
  const mail = { sent: 0, ...{} }
  const { env, end } = join({
    add: (a: number, b: number) => a + b,
    MAIL: {
      send: (to: string, text: string) => Promise.resolve(`${to}: ${text} ${++mail.sent}`),
      echo: (value: unknown) => value,
      nothing: () => {},
    },
  })
  assertEquals(await env.add(1, 2), 3)
  assertEquals(await env.MAIL.send('ann', 'hi'), 'ann: hi 1')
  const value = {
    date: new Date(5),
    map: new Map([[1, new Set(['a'])]]),
    bytes: new Uint8Array([1, 2]),
    big: 5n,
  }
  assertEquals(await env.MAIL.echo(value), value)
  assertEquals(await env.MAIL.nothing(), undefined)
  assertEquals(Object.keys(env.MAIL), ['send', 'echo', 'nothing'])
  end()
})

Deno.test('several calls are under way together, and each gets its own answer', async () => {
  let now = 0
  let most = 0
  const { env, end } = join({
    async wait(ms: number) {
      most = Math.max(most, ++now)
      await new Promise((done) => setTimeout(done, ms))
      now--
      return ms
    },
  })
  const waits = [30, 5, 20, 1, 10]
  assertEquals(await Promise.all(waits.map((ms) => env.wait(ms))), waits)
  assertEquals(most, 5)
  // More than may be under way wait in the program.
  const many = Array.from({ length: 1000 }, (_, at) => at % 3)
  assertEquals(await Promise.all(many.map((ms) => env.wait(ms))), many)
  assert(most <= 64, `${most}`)
  end()
})

Deno.test('errors of the host come back with class, message and code; no stack, cause or member of the host', async () => {
  class OwnError extends Error {
    override name = 'OwnError'
    secret = 'hidden-member'
  }
  const { env, end } = join({
    E: {
      type: () => {
        throw new TypeError('bad', { cause: new Error('hidden-cause') })
      },
      own: () => Promise.reject(Object.assign(new OwnError('mine'), { code: 'E_OWN' })),
      text: () => {
        throw 'hidden-text'
      },
      unclonable: () => () => {},
      large: () => 'x'.repeat(2 << 20),
      getter: () => {
        throw {
          get message() {
            throw new Error('hidden')
          },
        }
      },
    },
  })
  const type = await assertRejects(() => env.E.type(), TypeError, 'bad')
  const own = await assertRejects(() => env.E.own(), Error, 'mine')
  assertEquals([own.name, (own as Error & { code?: string }).code], ['OwnError', 'E_OWN'])
  const text = await assertRejects(() => env.E.text(), Error, 'The host failed')
  for (const error of [type, own, text]) {
    const shown = Deno.inspect(error) + error.stack + Deno.inspect({ ...error })
    assert(!/hidden|bindings_test|file:/.test(shown), shown)
  }
  await assertRejects(() => env.E.getter(), Error, 'The host failed')
  assertEquals((await assertRejects(() => env.E.unclonable(), Error)).name, 'DataCloneError')
  await assertRejects(() => env.E.large(), TypeError, 'want at most')
  await assertRejects(
    async () => await join({ f: () => {} }).env.f('x'.repeat(2 << 20)),
    RangeError,
    'arguments of',
  )
  end()
})

Deno.test('a signal calls a call off: in the program at once, in the host by the caller', async () => {
  const seen = Promise.withResolvers<string>()
  const { env, end } = join({
    F: {
      wait: (options: unknown) => {
        const { program, signal } = caller()!
        signal.addEventListener('abort', () => seen.resolve(`${program} ${JSON.stringify(options)}`))
        return new Promise(() => {})
      },
    },
  })
  const abort = new AbortController()
  const waiting = env.F.wait({ a: 1, signal: abort.signal })
  setTimeout(() => abort.abort(new Error('enough')), 5)
  await assertRejects(() => waiting, Error, 'enough')
  assertEquals(await seen.promise, 'p {"a":1}')
  await assertRejects(() => env.F.wait(AbortSignal.abort(new Error('before'))), Error, 'before')
  assertEquals(caller(), undefined)
  end()
})

Deno.test('the end of a request calls off what is under way, and later calls fail in the program', async () => {
  const seen = Promise.withResolvers<unknown>()
  const { env, end } = join({
    wait: () =>
      new Promise((_, fail) =>
        caller()!.signal.addEventListener('abort', () => fail(seen.resolve('aborted')))
      ),
  })
  env.wait().catch(() => {})
  await settle()
  end()
  assertEquals(await seen.promise, 'aborted')
  await assertRejects(() => env.wait(), TypeError, 'has been answered')
})

Deno.test('a binding is a function or an object of its own functions, by names that are no traps', () => {
  class Service {
    method() {}
  }
  const wrong: [unknown, string][] = [
    [{ MAIL: new Service() }, 'functions of its own'],
    [{ MAIL: {} }, 'functions of its own'],
    [{ MAIL: 5 }, 'want a function'],
    [{ MAIL: { send() {}, key: 'x' } }, 'key is string'],
    [{ 'a b': () => {} }, 'is called'],
    [{ constructor: () => {} }, 'is called'],
    [JSON.parse('{"__proto__": 1}'), 'is called'],
    [{ A: { then() {} } }, 'is called'],
    [{ A: { 'x-y'() {} } }, 'is called'],
    [Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`b${at}`, () => {}])), '257 bindings'],
  ]
  for (const [given, words] of wrong) {
    assertThrows(() => toBindings('test', given as Record<string, unknown>), Error, words)
  }
})

Deno.test('what a hostile program says ends nothing and reaches nothing', async () => {
  let ran = 0
  const { said, hear, conversation } = hostile({ MAIL: { send: () => ++ran }, f: () => ++ran })
  const args = (...values: unknown[]) => joinMessage(encodeValue(values, { stacks: false }))
  const calls: [unknown, string | Uint8Array<ArrayBuffer>][] = [
    [['call', 'MAIL', 'constructor'], args()],
    [['call', 'MAIL', '__proto__'], args()],
    [['call', 'MAIL', 'toString'], args()],
    [['call', 'MAIL', 'hasOwnProperty'], args('x')],
    [['call', 'MAIL', 'Send'], args()],
    [['call', 'MAIL', 'send '], args()],
    [['call', 'MAIL', null], args()],
    [['call', '__proto__', 'x'], args()],
    [['call', 'constructor', 'constructor'], args()],
    [['call', 'f', 'call'], args()],
    [['call', 'f', 'apply'], args()],
    [['call', 'f', ''], args()],
    [['call', 'none', null], args()],
    [['call', 7, null], args()],
    [['call', 'f'], args()],
    [['call'], args()],
    [['call', ['f'], null], args()],
    [['call', 'f', { toString: 'x' }], args()],
    [['call', 'f', null], ''],
    [['call', 'f', null], 'no json'],
    [['call', 'f', null], '["u"]'],
    [['call', 'f', null], '[{"length":1}]'],
    [['call', 'f', null], args(...Array(33).fill(0))],
    [['call', 'x'.repeat(60_000), null], args()],
    [
      ['fetch', null, { url: 'https://x/', method: 'GET', headers: [], redirect: 'follow', hasBody: false }],
      '',
    ],
    [['fetch', null, null], ''],
    [['fetch', null, { url: 5 }], ''],
    [['fetch', null, {
      url: 'https://x/',
      method: 'GET',
      headers: [['a']],
      redirect: 'follow',
      hasBody: false,
    }], ''],
    [
      ['fetch', 'MAIL', {
        url: 'https://x/',
        method: 'GET',
        headers: [],
        redirect: 'follow',
        hasBody: false,
      }],
      '',
    ],
    [['fetch', '__proto__', {
      url: 'https://x/',
      method: 'GET',
      headers: [],
      redirect: 'follow',
      hasBody: false,
    }], ''],
  ]
  for (const [at, [head, body]] of calls.entries()) hear(2 * at + 1, head, body)
  await settle()
  assertEquals(ran, 0)
  assertEquals(said.map(({ id, head }) => [id, head[0]]), said.map(({ id }) => [id, 'error']))
  assertEquals(said.map(({ id }) => id).toSorted((a, b) => a - b), calls.map((_, at) => 2 * at + 1))
  // What is no message, or is of no exchange, is nothing.
  said.length = 0
  for (
    const head of [
      '',
      'x',
      '{}',
      '"call"',
      '[]',
      '[5]',
      'null',
      new Uint8Array([255]),
      new Uint8Array(70_000),
      ['piece'],
      ['end'],
      ['more', 5],
      ['cancel'],
      ['value'],
      ['constructor'],
    ]
  ) {
    hear(7, head)
  }
  await settle()
  assertEquals(said, [])
  hear(9, ['call', 'f', null], args())
  await settle()
  assertEquals([said.length, ran], [1, 1])
  conversation.end()
})

Deno.test('ten thousand calls at once, answers never heard, calls after the end: all of it bounded', async () => {
  let running = 0
  let most = 0
  const wait = async () => {
    most = Math.max(most, ++running)
    await new Promise((done) => setTimeout(done, 5))
    running--
    return 'x'.repeat(500_000)
  }
  const { said, state, hear, conversation } = hostile({ wait }, { calls: 5000 })
  const args = joinMessage(encodeValue([], { stacks: false }))
  for (let at = 0; at < 10_000; at++) hear(2 * at + 1, ['call', 'wait', null], args)
  await settle()
  assertEquals(most, 64)
  assertEquals(conversation.use.calls, 10_000)
  assertEquals(said.filter(({ head }) => head[0] === 'error').length, 10_000 - 64)
  assert(said.some(({ body }) => body.includes('more than 5000 calls')))
  const deaf = hostile({ wait })
  deaf.state.full = true
  const before = Deno.memoryUsage().rss
  for (let round = 0; round < 20; round++) {
    for (let at = 0; at < 100; at++) deaf.hear(2 * (round * 100 + at) + 1, ['call', 'wait', null], args)
    await new Promise((done) => setTimeout(done, 10))
  }
  assert(Deno.memoryUsage().rss - before < 300 << 20)
  deaf.state.full = false
  await settle()
  assert(deaf.said.length <= 256 + 64, `${deaf.said.length}`)
  deaf.conversation.end()
  conversation.end()
  running = 0
  hear(1, ['call', 'wait', null], args)
  await settle()
  assertEquals(running, 0)
  void state
})

Deno.test('a binding that is a program is called by any name, and fetched', async () => {
  const any = {
    [BINDING]: {
      call: (member: string, args: readonly unknown[]) => `${member}(${args})`,
      fetch: async (request: Request) =>
        new Response(`${request.method} ${request.url} ${await request.text()}`, {
          status: 201,
          headers: { 'x-a': 'b' },
        }),
    },
  }
  const { env, end } = join({ COUNTER: any })
  assertEquals(await env.COUNTER.increment(1, 2), 'increment(1,2)')
  assertEquals(await env.COUNTER.other(), 'other()')
  const response: Response = await env.COUNTER.fetch('http://counter/path', { method: 'POST', body: 'data' })
  assertInstanceOf(response, Response)
  assertEquals([response.status, response.headers.get('x-a'), await response.text()], [
    201,
    'b',
    'POST http://counter/path data',
  ])
  assertEquals(await Promise.resolve(env.COUNTER) === env.COUNTER, true)
  end()
})
