/** Bodies that come piece by piece over real sockets: many at once, and clients that leave in the middle. */
import { assert, assertEquals } from '@std/assert'
import { listen } from '../listening.ts'
import { openSite, RUNTIMES, testIn } from './fixture.ts'

/** As many as may be parked: where a machine has not come back, a client of the next round is refused. */
const CLIENTS = 20
const CHUNK = 'x'.repeat(40_000)

for (const runtime of RUNTIMES) {
  testIn(runtime)('clients that send slowly are all served, and those that leave hold nothing', async () => {
    const site = openSite('bodies', {
      isolate: { vms: 1, runtime, parked: { each: CLIENTS, all: CLIENTS } },
      maxBodyBytes: 8 << 20,
    })
    await site.router.ready()
    const server = await listen((options) => site.router.serve(options))
    const upload = async () => {
      let left = 20
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        async pull(controller) {
          await new Promise((done) => setTimeout(done, 3))
          if (left-- > 0) controller.enqueue(new TextEncoder().encode(CHUNK))
          else controller.close()
        },
      })
      const response = await fetch(`${server.origin}/patient?what=text`, { method: 'POST', body })
      return `${response.status} ${await response.text()}`
    }
    const uploads = () => Promise.all(Array.from({ length: CLIENTS }, upload))
    const isServed = (answers: readonly string[]) => answers.every((answer) => answer === '200 800000')
    const leave = async (chunks: number) => {
      using connection = await Deno.connect(server.address as { hostname: string; port: number })
      const { writable } = connection
      const writer = writable.getWriter()
      const write = (text: string) => writer.write(new TextEncoder().encode(text))
      await write('POST /patient?what=text HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n')
      for (let chunk = 0; chunk < chunks; chunk++) {
        await write(`${CHUNK.length.toString(16)}\r\n${CHUNK}\r\n`)
      }
      await new Promise((done) => setTimeout(done, 50))
    }
    try {
      assert(isServed(await uploads()))
      for (let round = 0; round < 3; round++) {
        await Promise.all(Array.from({ length: CLIENTS }, (_, client) => leave(client % 4)))
      }
      // All places are free again, soon.
      let answers = await uploads()
      for (let time = 0; time < 60 && !isServed(answers); time++) {
        await new Promise((done) => setTimeout(done, 100))
        answers = await uploads()
      }
      assert(isServed(answers), answers.join('\n'))
      assertEquals(site.events.filter(({ kind }) => /crash|lost/.test(kind)), [])
    } finally {
      await server.close()
      await site.close()
    }
  })
}
