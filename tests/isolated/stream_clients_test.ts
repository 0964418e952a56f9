/** Streams of isolated handlers as clients meet them over real sockets: many at once, those that leave, those that do not read. */
import { assert, assertEquals } from '@std/assert'
import { listen } from '../listening.ts'
import { until } from '../until.ts'
import { openSite, RUNTIMES, testIn } from './fixture.ts'

/** As many as may be parked: where a machine has not come back, a client of the next round is refused. */
const CLIENTS = 50
const EVENTS = 20

for (const runtime of RUNTIMES) {
  testIn(runtime)(
    'fifty clients miss no event, and those that leave or do not read hold nothing',
    async () => {
      const told: string[] = []
      const site = openSite('clients', {
        isolate: {
          vms: 1,
          runtime,
          parked: { each: CLIENTS, all: CLIENTS },
          bindings: { TELL: (what: string) => void told.push(what) },
        },
      })
      await site.router.ready()
      const server = await listen((options) => site.router.serve(options))
      const of = (kind: string) => site.events.filter((event) => event.kind === kind)
      let requests = 0
      const open = async (query: string) => {
        requests++
        const response = await fetch(`${server.origin}/do?${query}`)
        assertEquals(response.status, 200, query)
        return response.body!.pipeThrough(new TextDecoderStream()).getReader()
      }
      const untilBack = () =>
        until(`${requests} requests are over`, () => of('isolate:complete').length === requests)
      const missNothing = async () => {
        told.length = 0
        const texts = await Promise.all(
          Array.from({ length: CLIENTS }, async (_, client) => {
            const reader = await open(`n=${EVENTS}&client=${client}`)
            let text = ''
            for (let read; !(read = await reader.read()).done;) text += read.value
            return text
          }),
        )
        const eventOf = (client: number, id: number) => `id: ${id}\ndata: {"client":"${client}"}\n\n`
        for (const [client, text] of texts.entries()) {
          assertEquals(text, Array.from({ length: EVENTS }, (_, id) => eventOf(client, id)).join(''))
        }
        await untilBack()
        assertEquals(told.length, CLIENTS)
      }
      try {
        await missNothing()
        told.length = 0
        await Promise.all(
          Array.from({ length: CLIENTS }, async (_, client) => {
            const reader = await open(`n=1000000&client=${client}`)
            for (let read = 0; read < client % 3; read++) assert(!(await reader.read()).done)
            await reader.cancel()
          }),
        )
        await untilBack()
        // The generator's `finally` ran in each machine, and could still ask the host.
        assertEquals(told.toSorted(), Array.from({ length: CLIENTS }, (_, at) => `over ${at}`).toSorted())
        await missNothing()

        site.events.length = requests = 0
        told.length = 0
        requests++
        using connection = await Deno.connect(server.address as { hostname: string; port: number })
        await connection.write(
          new TextEncoder().encode('GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n'),
        )
        await untilBack()
        // A guest that did not stop at its window would have been over its bytes long before.
        const ends = [...of('isolate:timeout'), ...of('isolate:crash')]
        assertEquals(ends.map(({ metadata }) => (metadata as { reason: string }).reason), ['streamIdleMs'])
        await missNothing()
      } finally {
        await server.close()
        await site.close()
      }
    },
  )
}
