/** Machines that wait for the host hold no more memory than they may, and give it back on each way out. */
import { type LifecycleEvent, Router } from '@mayfly/mayfly'
import { QueueError, Sandbox } from '@mayfly/mayfly/sandbox'
import { assertEquals, assertInstanceOf, assertRejects } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { RUNTIMES, testIn } from '../isolated/fixture.ts'
import { until } from '../until.ts'

/** What the host makes wait, by name: each call resolves when it is let go. */
class Waiting {
  readonly #calls = new Map<string, () => void>()

  readonly wait = (name: string) =>
    new Promise<string>((done) => void this.#calls.set(name, () => done(`went on ${name}`)))

  /** Resolves once the host was called by that name. */
  called(name: string): Promise<void> {
    return until(`${name} calls`, () => this.#calls.has(name))
  }

  go(name: string): void {
    this.#calls.get(name)!()
    this.#calls.delete(name)
  }
}

for (const runtime of RUNTIMES) {
  const test = testIn(runtime)

  test('a machine that would wait with more memory than there is room for is answered 503', async () => {
    const waiting = new Waiting()
    const events: LifecycleEvent[] = []
    const router = new Router({
      routesDir: fromFileUrl(new URL('./parked-routes', import.meta.url)),
      hotReload: false,
      requestTimeoutMs: 0,
      isolate: {
        vms: 1,
        runtime,
        timeoutMs: 60_000,
        parked: { allMb: 40 },
        bindings: { wait: waiting.wait },
      },
    })
    router.on('isolate:*', (event) => void events.push(event))
    const ask = async (name: string, mb: number) => {
      const headers = { accept: 'application/problem+json' }
      const url = `http://localhost/hold?name=${name}&mb=${mb}`
      const response = await router.fetch(
        new Request(url, { headers }),
      )
      return { status: response.status, text: await response.text(), headers: response.headers }
    }
    const told = () =>
      events.filter(({ kind }) => kind === 'isolate:rejected').map(({ metadata }) => metadata)
    try {
      await router.ready()
      // One that holds little waits meanwhile.
      const small = ask('small', 0)
      await waiting.called('small')
      const large = await ask('large', 60)
      assertEquals(large.status, 503)
      assertEquals(JSON.parse(large.text).type, 'isolation-queue-full')
      assertEquals(large.headers.get('retry-after'), '1')
      await until('it was told', () => told().length === 1)
      assertEquals({ ...told()[0], program: '' }, {
        program: '',
        runtime,
        limit: 40,
        reason: 'parked.allMb',
      })
      waiting.go('small')
      assertEquals((await small).text, 'went on small 0')
      // Each gives its memory back.
      for (let round = 0; round < 4; round++) {
        const next = ask('next', 24)
        await waiting.called('next')
        waiting.go('next')
        assertEquals((await next).text, 'went on next 7')
      }
      assertEquals(told().length, 1)
    } finally {
      await router.close()
    }
  })

  test('a sandbox bounds the memory of one program, and a stream that meets the bound breaks', async () => {
    const waiting = new Waiting()
    await using sandbox = await Sandbox.open({
      vms: 1,
      runtime,
      parked: { eachMb: 40 },
      limits: { timeoutMs: 60_000 },
    })
    const get = (name: string) =>
      sandbox.get(name, {
        mainModule: 'a.js',
        modules: {
          'a.js': `
export async function hold(name, mb) {
  const kept = new Uint8Array(mb << 20).fill(7)
  return await this.env.wait(name) + ' ' + kept.length
}
export default { fetch(request, env) {
  let kept = null
  return new Response(new ReadableStream({ async pull(stream) {
    if (kept !== null) throw new Error('it went on')
    stream.enqueue(new TextEncoder().encode('begins'))
    await env.wait('head')
    kept = new Uint8Array(60 << 20).fill(7)
    await env.wait('body')
  } }, { highWaterMark: 0 }))
} }`,
        },
        env: { wait: waiting.wait },
      })
    const [one, two] = [get('one'), get('two')]
    const small = one.call('hold', 'small', 0)
    await waiting.called('small')
    const error = await assertRejects(() => one.call('hold', 'large', 60), QueueError, 'hold too much memory')
    assertEquals(error.limit, { name: 'parked.eachMb', value: 40 })
    waiting.go('small')
    assertEquals(await small, 'went on small 0')
    const held = two.call('hold', 'held', 24)
    await waiting.called('held')
    waiting.go('held')
    assertEquals(await held, `went on held ${24 << 20}`)

    const { body } = await two.fetch(new Request('http://localhost/'))
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
    assertEquals((await reader.read()).value, 'begins')
    await waiting.called('head')
    waiting.go('head')
    assertInstanceOf(await reader.read().then(() => null, (error) => error), QueueError)
  })
}
