/** What one request leaves behind, and what a request can reach. */
import { assert, assertEquals } from '@std/assert'
import { delay } from '@std/async'
import { inEachRuntime, openSite, type Suite } from './fixture.ts'

Deno.env.set('MAYFLY_SEEN', 'from the host')

/** How each way out ends: the name of the error, or what it got. */
const OUT_OF_DENO: Readonly<Record<string, string>> = {
  fetch: 'NotCapable',
  connect: 'NotCapable',
  listen: 'NotCapable',
  serve: 'NotCapable',
  dns: 'Error',
  websocket: 'NotCapable',
  node_net: 'NotCapable',
  run: 'NotCapable',
  node_spawn: 'got undefined',
  kill: 'NotCapable',
  read: 'NotFound',
  read_own: 'NotFound',
  read_folder: 'NotFound',
  node_read: 'Error',
  write: 'NotCapable',
  temp: 'NotCapable',
  cwd: 'got /',
  chdir: 'NotFound',
  env: 'got undefined',
  env_all: 'got NODE_ENV',
  env_set: 'got undefined',
  ffi: 'NotCapable',
  hostname: 'got mayfly',
  import_file: 'TypeError',
  import_url: 'TypeError',
}

/** In the runtime core there is nothing to do it with: neither Deno nor Node's modules nor an import at run time. */
const OUT_OF_CORE = Object.fromEntries(
  Object.keys(OUT_OF_DENO).map((way) => [
    way,
    ['fetch', 'websocket'].includes(way)
      ? 'NotSupportedError'
      : /^(?:import|node)_/.test(way)
      ? 'TypeError'
      : 'ReferenceError',
  ]),
)
const WAYS_OUT = { deno: OUT_OF_DENO, core: OUT_OF_CORE }
/** What a request that writes everywhere leaves to be seen. */
const MARKS = ['counter', 'fired', 'closure', 'kept', 'map', 'buffer', 'shared', 'frozen']

inEachRuntime((runtime) => openSite('world', { isolate: { vms: 1, runtime } }), suite)

function suite({ runtime, test, site }: Suite): void {
  test('a counter says 1 in every request, and goes on counting where the state is kept', async () => {
    for (let i = 0; i < 20; i++) assertEquals((await site.ask('/count')).text, '{"count":1}')
    for (let i = 1; i <= 20; i++) assertEquals((await site.ask('/kept')).text, `{"count":${i}}`)
  })

  test('no request sees what another wrote', async () => {
    const first = await site.ask('/dirt')
    assertEquals(first.status, 200)
    const clean = JSON.parse(first.text)
    assertEquals(clean.env, 'from the host')
    for (let round = 0; round < 3; round++) {
      const { status, text } = await site.ask('/dirt', { method: 'POST' })
      assertEquals(status, 200, text)
      const { before, after } = JSON.parse(text)
      assertEquals(before, clean)
      for (const name of runtime === 'core' ? MARKS : [...MARKS, 'wasm']) {
        assert(after[name] !== clean[name], `${name} was not written: the test shows nothing`)
      }
      assertEquals(JSON.parse((await site.ask('/dirt')).text), clean)
    }
  })

  test('randomness differs in every request', async () => {
    const seen = new Set<string>()
    const rounds = 60
    for (let i = 0; i < rounds; i++) {
      const { status, text } = await site.ask('/randomness')
      assertEquals(status, 200, text)
      for (const value of Object.values(JSON.parse(text))) seen.add(String(value))
    }
    assertEquals(seen.size, rounds * (runtime === 'core' ? 3 : 5))
  })

  test('randomness of other realms and of form boundaries differs in every request', async () => {
    const seen = new Set<string>()
    const rounds = 30
    for (let i = 0; i < rounds; i++) {
      const { status, text } = await site.ask('/realms')
      assertEquals(status, 200, text)
      const { form, ...values } = JSON.parse(text)
      assertEquals(form, [['text', 'a\r\nb'], ['file', 'name.txt', 'text/plain', 'bytes']])
      for (const value of Object.values(values)) seen.add(String(value))
    }
    assertEquals(seen.size, rounds * (runtime === 'core' ? 2 : 7))
  })

  test('the clocks tell real time, and waiting is free', async () => {
    assertEquals((await site.ask('/randomness')).status, 200)
    for (let i = 0; i < 4; i++) {
      const before = Date.now()
      const { status, text } = await site.ask('/randomness', { method: 'POST' })
      const after = Date.now()
      assertEquals(status, 200, text)
      const { bootedAt, date, workedMs, waitedMs } = JSON.parse(text)
      assert(bootedAt < before, 'the top of the module ran before the snapshot')
      assert(date >= before - 20 && date <= after + 20, `${date} in ${before}..${after}`)
      // 30 ms by a clock of whole milliseconds are over 29.
      assert(workedMs > 29 && workedMs <= after - before + 20, `${workedMs} of ${after - before} ms`)
      // The program's own clock jumps while it waits for nothing but time.
      assert(waitedMs >= 49, `${waitedMs}`)
    }
  })

  test('coarse clocks move on by their grain', async () => {
    const { status, text } = await site.ask('/coarse')
    assertEquals(status, 200, text)
    const { steps, dates } = JSON.parse(text)
    assertEquals(steps.filter((step: number) => step % 2000 !== 0), [])
    assertEquals(dates.filter((date: number) => date % 2 !== 0), [])
  })

  test('there is no way to the network, processes, files, the environment or native code', async () => {
    const ends: Record<string, string> = {}
    for (const way of Object.keys(WAYS_OUT.deno)) {
      const { status, text } = await site.ask(`/reach?by=${way}`)
      const told = JSON.parse(text)
      ends[way] = status === 200 ? told.error ?? `got ${told.got}` : `status ${status}`
      assertEquals((await site.ask('/count')).text, '{"count":1}')
    }
    assertEquals(ends, WAYS_OUT[runtime])
  })

  if (runtime === 'deno') testPermissions()

  test('the machines tell of their boot and of each request', async () => {
    // A request is told of once its machine is clean, some milliseconds after the answer; those of other tests are by now.
    await delay(50)
    const begun = site.events.length
    await site.ask('/count')
    const isTold = () => site.events.findLastIndex(({ kind }) => kind === 'isolate:complete') >= begun
    for (let i = 0; i < 1000 && !isTold(); i++) await delay(5)
    const kinds = new Set(site.events.map(({ kind }) => kind))
    assert(kinds.has('isolate:boot') && kinds.has('isolate:ready') && kinds.has('isolate:complete'))
    const ready = site.events.find(({ kind }) => kind === 'isolate:ready')
    assert(ready?.kind === 'isolate:ready' && ready.metadata.bootMs! > 0)
    assertEquals(typeof ready.metadata.settled, 'boolean')
    const event = site.events.findLast(({ kind }) => kind === 'isolate:complete')
    assert(event?.kind === 'isolate:complete')
    const { program, vm, queueMicros, runMicros, resetMicros, dirtyPages } = event.metadata
    assert(program !== '' && vm === 0)
    for (const value of [queueMicros, runMicros, resetMicros]) assert(value! >= 0)
    assert(dirtyPages! > 0)
  })

  function testPermissions(): void {
    test('no permission is granted', async () => {
      const { text } = await site.ask('/reach?by=permission')
      assertEquals(JSON.parse(text).got.split(',').filter((state: string) => state === 'granted'), [])
    })

    test('a worker in a machine harms nobody', async () => {
      const { status } = await site.ask('/reach?by=worker')
      assert([200, 502, 504, 507].includes(status), `${status}`)
      assertEquals((await site.ask('/count')).text, '{"count":1}')
    })
  }
}
