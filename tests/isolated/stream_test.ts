/** Responses of isolated handlers whose bodies come piece by piece, in real machines and over real sockets. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { listen } from '../listening.ts'
import { until } from '../until.ts'
import { fewestExits, inSomeSite } from './exits.ts'
import { inEachRuntime, openSite, type Runtime, type Suite } from './fixture.ts'

const openStreams = (runtime: Runtime) => openSite('streams', { isolate: { vms: 1, runtime } })

inEachRuntime(openStreams, suite)

function suite({ runtime, test, site }: Suite): void {
  const open = (query: string) => site.router.fetch(new Request(`http://localhost/do?what=${query}`))
  const events = (kind: string) =>
    site.events.filter((event) => event.kind === kind).map(({ metadata }) => metadata)

  test('a body that is there at once goes whole, as a text does', async () => {
    await using server = await listen((options) => site.router.serve(options))
    const get = (query: string) => fetch(`${server.origin}/do?what=${query}`)
    const response = await get('pieces&n=3')
    const { status, headers } = response
    const sent = [headers.get('content-length'), headers.get('transfer-encoding'), headers.get('x-own')]
    assertEquals([status, await response.text(), ...sent], [203, '0;1;2;', '6', null, 'yes'])
    const stream = await get('ticks&n=2&ms=1')
    assertEquals(stream.headers.get('content-length'), null)
    assertEquals(await stream.text(), 'tick 2;tick 1;')
  })

  test('a body that is there at once takes as many exits as a text', () =>
    inSomeSite(() => Promise.resolve(openStreams(runtime)), async (site) => {
      const plain = await fewestExits(site, '/do?what=plain', 'plain')
      assertEquals(await fewestExits(site, '/do?what=pieces&n=3', '0;1;2;', 203), plain)
    }))

  test('pieces come as they are made, the head before them, and the machine is clean behind them', async () => {
    const begin = performance.now()
    const response = await open('ticks&n=3&ms=30')
    assertEquals(response.status, 200)
    assertEquals(await response.text(), 'tick 3;tick 2;tick 1;')
    // Timers run in real time once the head has left.
    assert(performance.now() - begin > 50)
    assertEquals(await (await open('count')).text(), await (await open('count')).text())
    assertEquals(await (await open('clone&n=2')).text(), 'tick 2;tick 1;')
  })

  test('a stream that asks ahead leaves nothing of the warm-up in the snapshot', async () => {
    assertEquals(await (await open('pulling')).text(), '0')
    assertEquals(await (await open('ahead&n=4&ms=2')).text(), '4;3;2;1;')
    assertEquals(await (await open('pulling')).text(), '0')
  })

  test('server-sent events arrive, each in its order', async () => {
    const response = await open('sse&n=20&ms=2')
    assertEquals(response.headers.get('content-type'), 'text/event-stream')
    const ids = (await response.text()).split('\n\n').filter(Boolean).map((event) =>
      /id: (\d+)/.exec(event)![1]
    )
    assertEquals(ids, Array.from({ length: 20 }, (_, i) => `${i}`))
  })

  test('a large body comes whole, by a window at a time', async () => {
    const response = await open('generator&n=300')
    const bytes = await response.bytes()
    assertEquals(bytes.length, 3_000_000)
  })

  test('many streams are under way on one worker, and others are served beside them', async () => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => open('ticks&n=5&ms=20')))
    assertEquals(await (await open('plain')).text(), 'plain')
    const texts = await Promise.all(streams.map((response) => response.text()))
    assertEquals(new Set(texts), new Set(['tick 5;tick 4;tick 3;tick 2;tick 1;']))
  })

  test('what a body throws breaks the transfer, and so does a piece that is none', async () => {
    const response = await open('throws&n=2')
    const error = await assertRejects(() => response.text())
    assertStringIncludes(String(error), 'the body broke')
    assertEquals((await open('text')).status, 500)
    assertEquals(await (await open('plain')).text(), 'plain')
  })

  test('a stream ends at each of its limits, which are named', async () => {
    site.events.length = 0
    await assertRejects(async () => (await open('silent')).text(), Error, 'streamIdleMs, 2000 ms')
    await assertRejects(
      async () => (await open('generator&n=100000')).text(),
      Error,
      'streamBytes, 4000000 bytes',
    )
    await assertRejects(async () => (await open('ticks&n=100000&ms=50')).text(), Error, 'streamMs, 8000 ms')
    await until(
      'the events of three limits',
      () => events('isolate:timeout').length === 2 && events('isolate:crash').length === 1,
    )
    assertEquals(
      (events('isolate:timeout') as { reason: string; limit: number }[]).map((
        { reason, limit },
      ) => [reason, limit]),
      [['streamIdleMs', 2000], ['streamMs', 8000]],
    )
    assertEquals((events('isolate:crash') as { reason: string }[])[0]!.reason, 'streamBytes')
    assertEquals(await (await open('plain')).text(), 'plain')
  })

  test('a program that works or ends behind the head breaks its own stream alone', async () => {
    await assertRejects(async () => (await open('spins')).text(), Error, 'streamIdleMs')
    if (runtime === 'deno') await assertRejects(async () => (await open('exits')).text(), Error, 'status 3')
    assertEquals(await (await open('plain')).text(), 'plain')
  })

  test('who goes away frees the machine, at every point', async () => {
    for (const query of ['ticks&n=100000&ms=5', 'silent', 'generator&n=100000', 'sse&n=1000', 'spins']) {
      for (const pieces of [0, 1, 3]) {
        const response = await open(query)
        const reader = response.body!.getReader()
        const wanted = query === 'silent' || query === 'spins' ? Math.min(1, pieces) : pieces
        for (let i = 0; i < wanted; i++) assert(!(await reader.read()).done)
        await reader.cancel()
        assertEquals(await (await open('plain')).text(), 'plain')
      }
    }
    assertEquals(events('isolate:lost'), [])
  })

  test('one that nobody reads holds a window, and ends', async () => {
    site.events.length = 0
    const response = await open('generator&n=100000')
    await until('the event of a limit', () => events('isolate:timeout').length === 1)
    assertEquals((events('isolate:timeout') as { reason: string }[])[0]!.reason, 'streamIdleMs')
    await response.body!.cancel().catch(() => {})
  })
}
