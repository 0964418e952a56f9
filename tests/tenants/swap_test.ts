import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { join } from '@std/path'
import type { LifecycleKind } from '@mayfly/mayfly'
import { testIsolated } from '../isolated/fixture.ts'
import { openTenants, says, type TenantSite } from './fixture.ts'

/** Resolves with the next event of a kind. */
function next(
  site: TenantSite,
  kind: LifecycleKind & `tenant:${string}`,
): Promise<TenantSite['events'][number]> {
  return new Promise((resolve) => {
    const stop = site.router.on(kind, (event) => {
      stop()
      resolve(event as TenantSite['events'][number])
    })
  })
}

testIsolated('a saved file swaps its tenant, and a bad one is refused while the former serves', async () => {
  await using site = await openTenants({
    files: {
      'a/main.ts': `import { word } from './word.ts'\nexport default { fetch: () => new Response(word) }`,
      'a/word.ts': `export const word: string = 'one'`,
      'b/main.js': says('b'),
    },
    tenants: { watch: true },
  })
  assertEquals((await site.ask('a.localhost')).text, 'one')
  assertEquals((await site.ask('b.localhost')).text, 'b')
  const [first] = site.router.tenants.list()

  const swapped = next(site, 'tenant:swap')
  await site.write({ 'a/word.ts': `export const word: string = 'two'` })
  assertEquals((await swapped).metadata.tenant, 'a')
  assertEquals((await site.ask('a.localhost')).text, 'two')
  const [second, other] = site.router.tenants.list()
  assert(first!.version !== second!.version)
  assertEquals([other!.name, other!.state, other!.error], ['b', 'serving', undefined])

  const refused = next(site, 'tenant:refused')
  await site.write({ 'a/word.ts': `export const word = = 'three'` })
  const { metadata } = await refused
  assertEquals([metadata.tenant, metadata.version], ['a', second!.version])
  assertStringIncludes(metadata.error!.stack!, 'word.ts:1:')
  assertEquals((await site.ask('a.localhost')).text, 'two')
  const [third] = site.router.tenants.list()
  assertEquals([third!.state, third!.version, third!.error], ['serving', second!.version, metadata.error])

  const mended = next(site, 'tenant:swap')
  await site.write({ 'a/word.ts': `export const word = 'four'` })
  await mended
  assertEquals((await site.ask('a.localhost')).text, 'four')
  assertEquals(site.router.tenants.list()[0]!.error, undefined)
  assertEquals(site.router.tenants.stats().map(({ swaps }) => swaps), [2, 0])
})

testIsolated('settings that are saved hold, and new folders and those that go are followed', async () => {
  await using site = await openTenants({
    files: { 'a/main.js': `export default { fetch: (_, env) => new Response(env.WORD ?? 'none') }` },
    tenants: { watch: true },
  })
  assertEquals((await site.ask('a.localhost')).text, 'none')
  const swapped = next(site, 'tenant:swap')
  await site.write({
    'a/tenant.json': '{ "env": { "WORD": "said" }, "hosts": ["a.example", "a.localhost"] }',
  })
  await swapped
  assertEquals((await site.ask('a.example')).text, 'said')
  const refused = next(site, 'tenant:refused')
  await site.write({ 'a/tenant.json': '{ "env": 1 }' })
  assertStringIncludes((await refused).metadata.error!.message, 'env is 1, want an object')
  assertEquals((await site.ask('a.example')).text, 'said')

  // A new tenant is known once its settings were read; it tells nothing before its first request.
  await site.write({ 'late/main.js': says('late'), 'late/tenant.json': '{}' })
  await site.router.tenants.reload('late')
  assertEquals((await site.ask('late.localhost')).text, 'late')
  const removed = next(site, 'tenant:removed')
  await Deno.remove(join(site.dir, 'late'), { recursive: true })
  assertEquals((await removed).metadata.tenant, 'late')
  assertEquals((await site.ask('late.localhost')).text, 'the router')
})

testIsolated('reload reads one tenant anew, and rejects with why it is refused', async () => {
  await using site = await openTenants({ files: { 'a/main.js': says('one'), 'b/main.js': says('b') } })
  assertEquals((await site.ask('a.localhost')).text, 'one')
  await site.write({ 'a/main.js': says('two') })
  assertEquals((await site.ask('a.localhost')).text, 'one')
  await site.router.tenants.reload('a')
  assertEquals((await site.ask('a.localhost')).text, 'two')
  await site.write({ 'a/main.js': 'throw new RangeError("at its top")' })
  const error = await assertRejects(() => site.router.tenants.reload('a'), Error, 'at its top')
  assertEquals(error.name, 'RangeError')
  assertEquals((await site.ask('a.localhost')).text, 'two')
  // Nothing changed.
  await site.write({ 'a/main.js': says('two') })
  await site.router.tenants.reload()
  assertEquals(site.router.tenants.stats()[0]!.swaps, 1)
  await assertRejects(() => site.router.tenants.reload('aa'), TypeError, "did you mean 'a'")
})

testIsolated('no request fails while a tenant is swapped again and again', async () => {
  await using site = await openTenants({
    files: { 'a/main.js': says('0'), 'b/main.js': says('b') },
    isolate: { vms: 2 },
  })
  await site.ask('a.localhost')
  let done = false
  let asked = 0
  const load = (async () => {
    for (let last = 0; !done; asked++) {
      const [a, b] = await Promise.all([site.ask('a.localhost'), site.ask('b.localhost')])
      assertEquals([a.status, b.text], [200, 'b'])
      assert(Number(a.text) >= last, `${a.text} after ${last}`)
      last = Number(a.text)
    }
  })()
  for (let n = 1; n <= 30; n++) {
    await site.write({ 'a/main.js': says(`${n}`) })
    await site.router.tenants.reload('a')
  }
  done = true
  await load
  assert(asked > 10, `${asked} requests`)
  assertEquals((await site.ask('a.localhost')).text, '30')
  assertEquals(site.router.tenants.stats().map(({ failed, swaps }) => [failed, swaps]), [[0, 30], [0, 0]])
})
