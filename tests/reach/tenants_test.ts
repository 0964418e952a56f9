/** Tenants that ask the host, and how many requests may wait for it. */
import { caller } from '@mayfly/mayfly/reach'
import { QueueError, Sandbox } from '@mayfly/mayfly/sandbox'
import { assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { testIsolated } from '../isolated/fixture.ts'
import { openTenants } from '../tenants/fixture.ts'

const FETCHES = `export default { async fetch(request, env) {
  if (env.HELLO) return new Response(await env.HELLO.to('you'))
  try { return new Response(await (await fetch(new URL(request.url).searchParams.get('url'))).text()) }
  catch (error) { return new Response(error.message, { status: 502 }) }
} }`

testIsolated('tenants have bindings and outbound hosts as programs of a sandbox do', async () => {
  const server = Deno.serve(
    { port: 0, hostname: '127.0.0.1', onListen() {} },
    (request) => new Response(`heard ${request.headers.get('authorization')?.length ?? 0}`),
  )
  const origin = `http://127.0.0.1:${server.addr.port}`
  try {
    await using site = await openTenants({
      files: {
        'none/main.js': FETCHES,
        'lists/main.js': FETCHES,
        'lists/tenant.json': JSON.stringify({ outbound: [origin] }),
        'grouped/main.js': FETCHES,
        'grouped/tenant.json': JSON.stringify({ group: 'paid' }),
        'wrong/main.js': FETCHES,
        'wrong/tenant.json': JSON.stringify({ outbound: 5 }),
        'bound/main.js': FETCHES,
        'bound/tenant.json': JSON.stringify({ group: 'bound' }),
      },
      tenants: {
        defaults: { limits: { timeoutMs: 20_000 } },
        groups: {
          paid: {
            outbound: {
              allow: [origin],
              headers: { [origin]: { authorization: () => 'Bearer of-the-host' } },
            },
          },
          bound: { env: { HELLO: { to: (name: string) => `hello ${name} of ${caller()?.program}` } } },
        },
      },
    })
    const ask = (name: string, url = origin) => site.ask(`${name}.localhost`, `/?url=${url}/`)
    assertStringIncludes((await ask('none')).text, 'this program reaches no network')
    assertEquals((await ask('lists')).text, 'heard 0')
    assertStringIncludes((await ask('lists', 'http://127.0.0.1:1')).text, 'may not reach')
    assertEquals((await ask('grouped')).text, 'heard 18')
    assertEquals((await ask('bound')).text, 'hello you of tenant bound')
    const wrong = site.router.tenants.list().find(({ name }) => name === 'wrong')
    assertStringIncludes(wrong!.error!.message, 'outbound is 5, want null, an array of hosts')
  } finally {
    await server.shutdown()
  }
})

testIsolated('runs that wait for the host are bounded, of a program and in all', async () => {
  await using sandbox = await Sandbox.open({
    vms: 1,
    parked: { each: 2, all: 3 },
    limits: { timeoutMs: 30_000 },
  })
  const go = Promise.withResolvers<string>()
  let waiting = 0
  const env = { wait: () => (waiting++, go.promise) }
  const get = (name: string) =>
    sandbox.get(name, {
      mainModule: 'a.js',
      modules: { 'a.js': 'export async function wait() { return await this.env.wait() }' },
      env,
    })
  const [one, two] = [get('one'), get('two')]
  const runs = [one.call('wait'), two.call('wait'), one.call('wait')]
  for (let tries = 0; waiting < 3 && tries < 2000; tries++) await new Promise((done) => setTimeout(done, 10))
  assertEquals(waiting, 3)
  // The program's own bound, and that of all.
  await assertRejects(() => one.call('wait'), QueueError, 'of the program ask the host')
  await assertRejects(() => two.call('wait'), QueueError, 'Too many runs wait')
  go.resolve('went on')
  assertEquals(await Promise.all(runs), ['went on', 'went on', 'went on'])
  assertEquals(await two.call('wait'), 'went on')
})
