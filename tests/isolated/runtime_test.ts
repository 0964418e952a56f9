/** Which runtime ran a handler is told: by every event, and by a header in development. */
import { assert, assertEquals } from '@std/assert'
import { openDevelopment, openProduction, RUNTIMES, testIn } from './fixture.ts'

for (const runtime of RUNTIMES) {
  const test = testIn(runtime)

  test('the header and the events of development name the runtime', async () => {
    const site = await openDevelopment('loopback', { isolate: { vms: 1, runtime } })
    try {
      const { status, headers } = await site.ask('/')
      assertEquals([status, headers.get('x-mayfly-runtime')], [200, runtime])
      while (!site.events.some(({ kind }) => kind === 'isolate:complete')) {
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      const kinds = new Set(site.events.map(({ kind }) => kind))
      for (const kind of ['isolate:boot', 'isolate:ready', 'isolate:complete'] as const) {
        assert(kinds.has(kind), `${kind} among ${[...kinds].join(' ')}`)
      }
      for (const { kind, metadata } of site.events) {
        assertEquals((metadata as { runtime: string }).runtime, runtime, kind)
      }
    } finally {
      await site.close()
    }
  })

  test('a client in production is not told of the runtime', async () => {
    const site = await openProduction('loopback', runtime)
    try {
      const { status, headers } = await site.ask('/')
      assertEquals([status, headers.get('x-mayfly-runtime')], [200, null])
    } finally {
      await site.close()
    }
  })
}
