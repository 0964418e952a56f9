/** Tenants whose responses leave piece by piece, over sockets. */
import { assertEquals } from '@std/assert'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { testIsolated } from '../isolated/fixture.ts'
import { listen } from '../listening.ts'
import { until } from '../until.ts'
import { openTenants } from './fixture.ts'

/** Events of its own name, for as long as the client stays. */
const TICKS = `
const encoder = new TextEncoder()
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
export default { fetch(request, env) {
  const n = Number(new URL(request.url).searchParams.get('n'))
  let id = 0
  return new Response(new ReadableStream({
    async pull(controller) {
      await pause(5)
      if (id === n) return controller.close()
      controller.enqueue(encoder.encode('data: ' + NAME + ' ' + id++ + '\\n\\n'))
    },
    cancel: () => env.TELL(NAME),
  }, { highWaterMark: 0 }), { headers: { 'content-type': 'text/event-stream' } })
} }`

testIsolated('clients of two tenants each miss no event of theirs, and who leaves is noticed', async () => {
  const told: string[] = []
  await using site = await openTenants({
    files: Object.fromEntries(
      ['ann', 'bob'].map((name) => [`${name}/main.js`, `const NAME = '${name}'\n${TICKS}`]),
    ),
    tenants: {
      defaults: { limits: { timeoutMs: 20_000 }, env: { TELL: (name: string) => void told.push(name) } },
    },
  })
  await using server = await listen((options) => site.router.serve(options))
  // `fetch` sets no host of its own.
  const open = (name: string, n: number) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: `${name}.localhost` }
      const asked = request(`${server.origin}/?n=${n}`, { headers, agent: false }, resolve)
      asked.on('error', reject).end()
    })
  const missNothing = async () => {
    const names = Array.from({ length: 10 }, (_, at) => at % 2 === 0 ? 'ann' : 'bob')
    const texts = await Promise.all(names.map(async (name) => await text(await open(name, 20))))
    for (const [at, name] of names.entries()) {
      assertEquals(texts[at], Array.from({ length: 20 }, (_, id) => `data: ${name} ${id}\n\n`).join(''))
    }
  }
  await missNothing()
  const left = await open('bob', 1_000_000)
  assertEquals([left.statusCode, left.headers['content-type']], [200, 'text/event-stream'])
  await new Promise((first) => left.once('data', first))
  left.destroy()
  await until('the cancel of a tenant', () => told.length > 0)
  assertEquals(told, ['bob'])
  await missNothing()
})

/** Gives back what it gets. */
const ECHO = 'export default { fetch: (request) => new Response(request.body) }'

testIsolated(
  'the body of a request comes to a tenant piece by piece, up to the limit of its route',
  async () => {
    await using site = await openTenants({ files: { 'ann/main.js': ECHO } })
    await using server = await listen((options) => site.router.serve(options))
    const post = (chunks: number) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { host: 'ann.localhost' }
        const asked = request(`${server.origin}/`, { method: 'POST', headers, agent: false }, resolve)
        asked.on('error', reject)
        const send = () => {
          if (chunks-- === 0) return asked.end()
          asked.write('x'.repeat(50_000))
          setTimeout(send, 5)
        }
        send()
      })
    const echoed = await post(16)
    assertEquals([echoed.statusCode, (await text(echoed)).length], [200, 800_000])
    const short = await post(1)
    assertEquals([short.statusCode, (await text(short)).length], [200, 50_000])
  },
)
