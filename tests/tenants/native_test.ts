/** A tenant whose program is native, and native programs of a sandbox. */
import { assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { caller } from '@mayfly/mayfly/reach'
import { fromFileUrl, join } from '@std/path'
import { compile, compileExample, compileSaying, testNative } from '../isolated/native_programs.ts'
import { rejection } from '../sandbox/fixture.ts'
import { CrashError } from '../../src/sandbox/errors.ts'
import { openTenants, says } from './fixture.ts'

const CALLS = fromFileUrl(new URL('../isolated/native_calls_guest.c', import.meta.url))

testNative('a tenant may be a native program; a new one swaps it, a bad one is refused', async () => {
  await using site = await openTenants({
    files: { 'a/tenant.json': '{ "limits": { "memoryMb": 16 } }', 'b/main.js': says('b') },
  })
  await compileSaying('one', join(site.dir, 'a', 'main'))
  await site.router.tenants.reload('a')
  for (let i = 0; i < 3; i++) assertEquals((await site.ask('a.localhost')).text, 'one')
  assertEquals((await site.ask('b.localhost')).text, 'b')
  await compileSaying('two', join(site.dir, 'a', 'main'))
  await site.router.tenants.reload('a')
  assertEquals((await site.ask('a.localhost', '/x', { method: 'POST', body: 'y' })).text, 'two')
  await site.write({ 'a/main': 'no program', 'a/_error.html': '<p>{{status}}</p>' })
  const error = await site.router.tenants.reload('a').then(() => null, (error) => error as Error)
  assertMatch(error!.message, /main is no program of Linux on x86-64/)
  assertEquals((await site.ask('a.localhost')).text, 'two')
})

testNative('native tenants call the functions that their groups give them, each as itself', async () => {
  const HOST = { who: () => caller()?.program }
  await using site = await openTenants({
    files: {
      'a/tenant.json': '{ "group": "bound" }',
      'b/tenant.json': '{ "group": "bound" }',
      'c/tenant.json': '{}',
    },
    tenants: {
      defaults: { limits: { timeoutMs: 20_000 } },
      groups: { bound: { env: { HOST, twice: (n: number) => 2 * n } } },
    },
  })
  for (const name of ['a', 'b', 'c']) {
    await compile(CALLS, join(site.dir, name, 'main'), '-static')
    await site.router.tenants.reload(name)
  }
  const ask = async (name: string, what: string) => (await site.ask(`${name}.localhost`, `/${what}`)).text
  const both = await Promise.all(['a', 'b'].map((name) => ask(name, 'HOST.who')))
  assertEquals(both, ['json "tenant a"', 'json "tenant b"'])
  for (let i = 0; i < 3; i++) assertEquals(await ask('b', 'many'), '9900')
  // Nobody hears the calls of one without functions.
  assertEquals((await site.ask('c.localhost', '/plain')).status, 502)
  assertEquals(await ask('a', 'HOST.who'), 'json "tenant a"')
})

testNative('a sandbox runs native programs by fetch, each reset, and says what ends one', async () => {
  const folder = await Deno.makeTempDir({ prefix: 'mayfly-native-' })
  try {
    await using sandbox = await Sandbox.open({ vms: 1 })
    const read = async (name: string) => {
      const native = join(folder, name)
      await compileExample(name, native)
      return { mainModule: name, modules: { [name]: { data: await Deno.readFile(native) } }, native }
    }
    const hello = sandbox.get('hello', await read('hello'))
    assertEquals(await (await hello.fetch('http://x/?name=Ann')).text(), 'Hello, Ann!\n')
    const counter = sandbox.get('counter', await read('counter'))
    for (let i = 0; i < 3; i++) assertEquals(await (await counter.fetch('http://x/')).text(), '1\n')
    const called = await hello.call('total').then(() => null, (error) => error as Error)
    assertStringIncludes(called!.message, 'Cannot call total: the program is native, want fetch')
    const broken = { ...await read('hello'), native: '/nowhere' }
    const bytes = broken.modules.hello!.data.slice()
    bytes.fill(0xff, 24, 32) // Where it starts.
    const odd = sandbox.load({ ...broken, modules: { hello: { data: bytes } } })
    const { message } = await rejection(odd.fetch('http://x/'), CrashError)
    assertMatch(message, /^The program does not start: /)
    const again = await rejection(odd.fetch('http://x/'), CrashError)
    assertEquals(again.message, message)
    const env = sandbox.load({ ...await read('hello'), env: { A: 1 } })
    const refused = await env.fetch('http://x/').then(() => null, (error) => error as Error)
    assertStringIncludes(refused!.message, 'env.A is 1, want text, or functions, for a native program')
    assertEquals(await (await hello.fetch('http://x/')).text(), 'Hello, world!\n')
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})
