/** Streams through the bindings of programs, in machines. */
import { caller } from '@mayfly/mayfly/reach'
import { assert, assertEquals, assertRejects } from '@std/assert'
import { WINDOW } from '../../src/reach/calls/protocol.ts'
import { inEachSandbox } from '../sandbox/fixture.ts'
import { until } from '../until.ts'

const CHUNK = 50_000
const PROGRAM = `
const bytes = (count, ms = 0) => {
  let given = 0
  return new ReadableStream({
    async pull(controller) {
      if (ms > 0) await new Promise((done) => setTimeout(done, ms))
      if (given++ === count) return controller.close()
      controller.enqueue(new Uint8Array(${CHUNK}).fill(given % 251))
    },
  }, { highWaterMark: 0 })
}
export async function upload(count, ms) { return await this.env.FILES.save('a', bytes(count, ms)) }
export async function list(values) {
  const seen = []
  for await (const value of await this.env.ECHO(ReadableStream.from(values))) seen.push(value)
  return seen
}
export async function download(count) {
  let size = 0
  for await (const chunk of await this.env.FILES.open(count)) size += chunk.length
  return size
}
export async function both() {
  const calls = [bytes(20), bytes(30), bytes(5, 2)].map((stream, at) => this.env.FILES.save(String(at), stream))
  return [await Promise.all(calls), await this.env.FILES.save('b', await this.env.FILES.open(40))]
}
export async function first() {
  for await (const chunk of await this.env.FILES.open(1e6)) return chunk.length
}
export async function undrained() {
  const reader = (await this.env.FILES.open(1e6)).getReader()
  await reader.read()
  return 'left'
}
export async function held() {
  await Promise.race([this.env.FILES.hold(bytes(1e6)), this.env.FILES.isHeld()])
  return 'held'
}
export async function aborts() {
  const controller = new AbortController()
  setTimeout(() => controller.abort(new RangeError('enough')), 20)
  try {
    await this.env.FILES.save('c', bytes(1e6, 1), { signal: controller.signal })
  } catch (error) {
    return error.message
  }
}
export async function fails() {
  const broken = new ReadableStream({ pull() { throw new RangeError('mine') } })
  return [await this.env.READ(broken), await this.env.BREAKS().then(Array.fromAsync).catch((error) => error.message)]
}
export default { async fetch(request, env) {
  const { pathname } = new URL(request.url)
  if (pathname === '/save') return new Response(String(await env.FILES.save('r', request.body)))
  return new Response(await env.FILES.open(100))
} }`

inEachSandbox({ limits: { timeoutMs: 10_000 }, maxBodyBytes: 64 << 20 }, ({ runtime, test, sandbox }) => {
  const opened = { given: 0, cancelled: 0 }
  const seen: string[] = []
  const begun = Promise.withResolvers<void>()
  const env = {
    FILES: {
      save: async (name: string, stream: ReadableStream<Uint8Array>) => {
        let size = 0
        try {
          for await (const chunk of stream) size += chunk.length
        } catch (error) {
          seen.push(`${name} ${(error as Error).name} ${caller()!.signal.aborted}`)
          throw error
        }
        return size
      },
      open: (count: number) => {
        let left = count
        return new ReadableStream({
          pull(controller) {
            if (left-- === 0) return controller.close()
            opened.given++
            controller.enqueue(new Uint8Array(CHUNK))
          },
          cancel: () => void opened.cancelled++,
        }, { highWaterMark: 0 })
      },
      isHeld: () => begun.promise,
      hold: async (stream: ReadableStream<Uint8Array>) => {
        const reader = stream.getReader()
        await reader.read()
        begun.resolve()
        await new Promise((done) => caller()!.signal.addEventListener('abort', done))
        const left = await reader.closed.then(() => 'closed', (error) => error.name)
        seen.push(`held ${left}`)
      },
    },
    ECHO: (stream: ReadableStream<unknown>) => stream,
    READ: (stream: ReadableStream<unknown>) => Array.fromAsync(stream).catch((error) => `${error}`),
    BREAKS: () =>
      new ReadableStream({
        pull() {
          throw new RangeError('the host’s')
        },
      }),
  }
  const program = { mainModule: 'main.js', modules: { 'main.js': PROGRAM }, env }
  const worker = () => sandbox().get(`streams ${runtime}`, program)

  test('go in and out, as bytes and as values, several at once', async () => {
    for (let round = 0; round < 3; round++) {
      assertEquals(await worker().call('upload', 60, 0), 60 * CHUNK)
      assertEquals(await worker().call('download', 60), 60 * CHUNK)
      const values = [1, 'two', { three: [new Date(3)] }, 4n, new Uint16Array([5])]
      assertEquals(await worker().call('list', values), values)
      assertEquals(await worker().call('both'), [[20, 30, 5].map((count) => count * CHUNK), 40 * CHUNK])
    }
    assertEquals(await worker().call('upload', 5, 10), 5 * CHUNK)
  })

  test('the body of a request goes on to a binding, and what a binding gives is the body of a response', async () => {
    const body = ReadableStream.from(Array.from({ length: 50 }, () => new Uint8Array(CHUNK)))
    const saved = await worker().fetch('http://x/save', { method: 'POST', body })
    assertEquals(await saved.text(), String(50 * CHUNK))
    assertEquals((await (await worker().fetch('http://x/open')).bytes()).length, 100 * CHUNK)
  })

  test('what is not drained is cancelled with its reader or its request, at a window', async () => {
    for (const [name, value] of [['first', CHUNK], ['undrained', 'left']]) {
      Object.assign(opened, { given: 0, cancelled: 0 })
      assertEquals(await worker().call(name as string), value)
      await until(`${name} is cancelled`, () => opened.cancelled === 1)
      assert(opened.given <= WINDOW / CHUNK + 4, `${opened.given}`)
    }
    seen.length = 0
    assertEquals(await worker().call('held'), 'held')
    await until('the held one ends', () => seen.length === 1)
    assertEquals(seen, ['held AbortError'])
    assertEquals(await worker().call('aborts'), 'enough')
    await until('the aborted one ends', () => seen.length === 2)
    assertEquals(seen[1], 'c AbortError true')
  })

  test('errors are errors on the other side', async () => {
    assertEquals(await worker().call('fails'), ['RangeError: mine', 'the host’s'])
    await assertRejects(() => worker().call('upload', 1, -1).then(() => worker().call('list', [() => {}])))
  })
})
