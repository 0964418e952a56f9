/** Programs of a sandbox that ask the host, in machines. */
import { caller, kv, SqliteStore } from '@mayfly/mayfly/reach'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { assert, assertEquals, assertRejects } from '@std/assert'
import { MISSING, RUNTIMES } from '../isolated/fixture.ts'

for (const runtime of RUNTIMES) {
  Deno.test(
    {
      name: `${runtime}: a program calls the host`,
      ignore: MISSING !== '',
      sanitizeOps: false,
      sanitizeResources: false,
    },
    async (t) => {
      await using sandbox = await Sandbox.open({ vms: 2, runtime, limits: { timeoutMs: 10_000 } })
      using store = new SqliteStore(':memory:')
      const seen: unknown[] = []
      const worker = sandbox.get('acme', {
        mainModule: 'main.js',
        modules: {
          'main.js': `
export async function send(to) { return await this.env.MAIL.send(to, 'text') }
export async function many(n) { return await Promise.all(Array.from({ length: n }, (_, at) => this.env.echo(at))) }
export async function count() { return await this.env.DB.increment('n') }
export async function fail() { try { await this.env.MAIL.fail() } catch (error) { return [error.name, error.message, error instanceof TypeError] } }
export async function beside() {
  const marks = []
  const timer = new Promise((go) => setTimeout(() => { marks.push('timer'); go() }, 5))
  const call = this.env.slow(40).then(() => marks.push('call'))
  await Promise.all([timer, call])
  return marks
}
export async function none() { return await this.env.MAIL.none?.() }
export async function ask() { try { return await (await fetch('https://example.com/')).text() } catch (error) { return error.message } }
export const data = () => 1
export class Admin { constructor(ctx, env) { this.env = env } list() { return this.env.DB.list() } }
export default { async fetch(request, env) { return new Response(await env.MAIL.send(new URL(request.url).pathname, await request.text())) } }`,
        },
        env: {
          NAME: 'acme',
          MAIL: {
            send: (
              to: string,
              text: string,
            ) => (seen.push(caller()?.program), Promise.resolve(`sent ${text} to ${to}`)),
            fail: () => {
              throw new TypeError('no mail')
            },
          },
          echo: (value: unknown) => value,
          slow: (ms: number) => new Promise((done) => setTimeout(done, ms)),
          DB: kv('acme/', { store }),
        },
      })
      await t.step('one call', async () => {
        assertEquals(await worker.call('send', 'ann'), 'sent text to ann')
        assertEquals(seen, ['acme'])
      })
      await t.step('many calls at once, and in a row', async () => {
        assertEquals(await worker.call('many', 10), Array.from({ length: 10 }, (_, at) => at))
        assertEquals(await worker.call('many', 1000), Array.from({ length: 1000 }, (_, at) => at))
        assertEquals([await worker.call('count'), await worker.call('count')], [1, 2])
      })
      await t.step('errors, timers, classes, fetch', async () => {
        assertEquals(await worker.call('fail'), ['TypeError', 'no mail', true])
        assertEquals(await worker.call('beside'), ['timer', 'call'])
        assertEquals(await worker.entrypoint('Admin').call('list'), { keys: ['n'], cursor: null })
        assertEquals(await worker.call('none'), undefined)
        const response = await worker.fetch('http://x/path', { method: 'POST', body: 'hi' })
        assertEquals(await response.text(), 'sent hi to /path')
        assert(/outbound/.test(String(await worker.call('ask'))))
      })
      await t.step('once promoted it goes on', async () => {
        for (let at = 0; at < 30; at++) assertEquals(await worker.call('send', `${at}`), `sent text to ${at}`)
        for (let wait = 0; wait < 200 && !sandbox.stats().programs[0].warm; wait++) {
          await new Promise((done) => setTimeout(done, 100))
        }
        assert(sandbox.stats().programs[0].warm)
        for (let at = 0; at < 30; at++) assertEquals(await worker.call('send', `${at}`), `sent text to ${at}`)
        assertEquals(await worker.call('many', 200), Array.from({ length: 200 }, (_, at) => at))
      })
      await t.step('a program calls another', async () => {
        const counter = sandbox.get('front', {
          mainModule: 'a.js',
          modules: {
            'a.js': `export async function go() {
  return [await this.env.ACME.send('bob'), await (await this.env.ACME.fetch('http://acme/x', { method: 'POST', body: 'y' })).text()]
}`,
          },
          env: { ACME: worker },
        })
        assertEquals(await counter.call('go'), ['sent text to bob', 'sent y to /x'])
      })
      await t.step('run has env and outbound', async () => {
        const run = (text: string, more: object) => sandbox.run(text, more).then(({ value }) => value)
        assertEquals(
          await run('export default async function () { return await this.env.f(2) }', {
            env: { f: (n: number) => n * 2 },
          }),
          4,
        )
        const outbound = (request: Request) => new Response(`answer to ${request.url}`)
        const text = `export default async () => await (await fetch('https://a.test/b')).text()`
        assertEquals(await run(text, { outbound }), 'answer to https://a.test/b')
        const big =
          `export default async () => (await (await fetch('https://a.test/b')).arrayBuffer()).byteLength`
        assertEquals(await run(big, { outbound: () => new Response(new Uint8Array(3_000_000)) }), 3_000_000)
        const up =
          `export default async () => await (await fetch('https://a.test/b', { method: 'POST', body: new Uint8Array(2_000_000) })).text()`
        assertEquals(
          await run(up, {
            outbound: async (request: Request) => new Response(`${(await request.bytes()).length}`),
          }),
          '2000000',
        )
      })
      await t.step('a call that never ends meets the time limit, and is called off', async () => {
        const off = Promise.withResolvers<void>()
        const env = {
          wait: () => {
            caller()!.signal.addEventListener('abort', () => off.resolve())
            return new Promise(() => {})
          },
        }
        const text = 'export default async function () { await this.env.wait() }'
        await assertRejects(() => sandbox.run(text, { env, timeoutMs: 100 }), Error, '100 ms')
        await off.promise
      })
    },
  )
}
