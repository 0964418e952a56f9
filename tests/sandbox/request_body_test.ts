/** Programs that get the bodies of their requests piece by piece. */
import { assert, assertEquals } from '@std/assert'
import {
  LimitError,
  type SandboxCode,
  type SandboxWorker,
  ThrownError,
  TimeoutError,
} from '@mayfly/mayfly/sandbox'
import { inEachSandbox, rejection } from './fixture.ts'

/** Milliseconds for which a client may send nothing: far longer than a busy host holds up one that sends. */
const IDLE_MS = 2500

const PROGRAM: SandboxCode = {
  mainModule: 'main.js',
  modules: {
    'main.js': `
      let requests = 0
      async function sum({ body }) {
        let bytes = 0
        for await (const chunk of body) bytes += chunk.length
        return bytes
      }
      export default { async fetch(request, env, { props }) {
        requests++
        switch (new URL(request.url).pathname) {
          case '/sum': return new Response(String(await sum(request)))
          case '/echo': return new Response(request.body)
          case '/props': return new Response(props.name + ' ' + await sum(request))
          case '/count': return new Response(String(requests))
          case '/throws':
            for await (const _ of request.body) throw new RangeError('enough')
        }
        return new Response('unread')
      } }`,
  },
  limits: { timeoutMs: 60_000, streamMs: 120_000, streamIdleMs: IDLE_MS },
}

function chunks(count: number, ms = 0, error?: Error): ReadableStream<Uint8Array<ArrayBuffer>> {
  let given = 0
  return new ReadableStream({
    async pull(controller) {
      if (ms > 0) await new Promise((done) => setTimeout(done, ms))
      if (given++ < count) controller.enqueue(new Uint8Array(50_000))
      else if (error === undefined) controller.close()
      else controller.error(error)
    },
  }, { highWaterMark: 0 })
}

inEachSandbox({ maxBodyBytes: 64 << 20 }, ({ test, sandbox }) => {
  const post = (worker: Pick<SandboxWorker, 'fetch'>, path: string, body: BodyInit) =>
    worker.fetch(`http://x/${path}`, { method: 'POST', body })

  test('a large body comes to programs of every kind: once, by name, with props, kept', async () => {
    const workers = [
      sandbox().load(PROGRAM),
      sandbox().get('named bodies', PROGRAM),
      sandbox().get('kept bodies', PROGRAM, { ephemeral: false }),
    ]
    for (const worker of workers) {
      // A program of a name is promoted meanwhile.
      for (let round = 0; round < 4; round++) {
        assertEquals(await (await post(worker, 'sum', chunks(60))).text(), '3000000')
      }
      const props = { name: 'ann' }
      const entrypoint = worker.entrypoint('default', { props })
      assertEquals(await (await post(entrypoint, 'props', chunks(60))).text(), 'ann 3000000')
      assertEquals((await (await post(worker, 'echo', chunks(40))).bytes()).length, 2_000_000)
      assertEquals(await (await post(worker, 'unread', chunks(1000, 1))).text(), 'unread')
    }
  })

  test('who sends too much, too slowly or not all of it is refused, and a kept program keeps its state', async () => {
    for (const ephemeral of [true, false]) {
      const worker = sandbox().get(`limits ${ephemeral}`, PROGRAM, { ephemeral })
      const before = Number(await (await worker.fetch('http://x/count')).text())
      const large = await rejection(post(worker, 'sum', chunks(1400)), LimitError)
      assertEquals(large.limit.name, 'maxBodyBytes')
      const silent = new ReadableStream<Uint8Array<ArrayBuffer>>({
        start: (controller) => controller.enqueue(new Uint8Array(50_000)),
      })
      const slow = await rejection(post(worker, 'sum', silent), TimeoutError)
      assertEquals(slow.limit, { name: 'streamIdleMs', value: IDLE_MS })
      const gone = await post(worker, 'sum', chunks(3, 20, new TypeError('gone'))).catch((error) => error)
      assertEquals(String(gone), 'TypeError: gone')
      const thrown = await rejection(post(worker, 'throws', chunks(100, 1)), ThrownError)
      assertEquals(thrown.message, 'enough')
      const after = Number(await (await worker.fetch('http://x/count')).text())
      assertEquals(after - before, ephemeral ? 0 : 5)
      assert(sandbox().stats().failed >= 4)
    }
  })
})
