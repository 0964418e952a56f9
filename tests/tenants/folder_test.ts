import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { join } from '@std/path'
import { testIsolated } from '../isolated/fixture.ts'
import { openTenants, says } from './fixture.ts'

testIsolated('a folder of tenants is served by host, and other hosts by the routes', async () => {
  await using site = await openTenants({
    files: {
      'acme/main.ts': `import { greet } from './lib/greet.ts'
import data from './data.json'
import page from './page.dve'
interface Env { NAME: string }
export default {
  async fetch(request: Request, env: Env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname === '/echo') return new Response(await request.text(), { headers: { 'x-method': request.method } })
    if (pathname === '/missing') return new Response('acme has no such page', { status: 404 })
    return Response.json({ greeting: greet(env.NAME), data, page, url: request.url, tenant: ctx.props.tenant })
  },
}`,
      'acme/lib/greet.ts': 'export const greet = (name: string): string => `hello, ${name}`',
      'acme/data.json': '{ "a": 1 }',
      'acme/page.dve': '<p>{{ x }}</p>',
      'acme/tenant.json': '{ "env": { "NAME": "ann" }, "hosts": ["acme.localhost", "*.acme.example"] }',
      'plain/main.js': says('plain'),
      'plain/tenant.json': '{ "weight": 16, "concurrency": 2, "cpuMsPerSecond": 1000 }',
      '_shared/main.js': says('never'),
    },
  })
  const { status, text } = await site.ask('acme.localhost', '/a?b')
  assertEquals(status, 200, text)
  assertEquals(JSON.parse(text), {
    greeting: 'hello, ann',
    data: { a: 1 },
    page: '<p>{{ x }}</p>',
    url: 'http://acme.localhost/a?b',
    tenant: 'acme',
  })
  const echo = await site.ask('shop.acme.example:8080', '/echo', { method: 'POST', body: 'what was sent' })
  assertEquals([echo.text, echo.headers.get('x-method')], ['what was sent', 'POST'])
  assertEquals((await site.ask('PLAIN.localhost')).text, 'plain')
  const missing = await site.ask('acme.localhost', '/missing')
  assertEquals([missing.status, missing.text], [404, 'acme has no such page'])
  for (const host of ['localhost', 'shared.localhost', '_shared.localhost', 'other.localhost']) {
    assertEquals((await site.ask(host)).text, 'the router', host)
  }
  const rows = site.router.tenants.list()
  assertEquals(rows.map(({ name, state, hosts }) => [name, state, hosts]), [
    ['acme', 'serving', ['acme.localhost', '*.acme.example']],
    ['plain', 'serving', ['plain.localhost']],
  ])
  assertMatch(rows[0]!.version!, /^[0-9a-f]{16}$/)
  const stats = site.router.tenants.stats()
  assertEquals(stats.map(({ name, requests, failed, running }) => [name, requests, failed, running]), [
    ['acme', 3, 0, 0],
    ['plain', 1, 0, 0],
  ])
  assert(stats[0]!.machineMs > 0)
})

testIsolated('hosts that nobody has are refused where that is asked for', async () => {
  await using site = await openTenants({ files: { 'a/main.js': says('a') }, tenants: { unknown: 'refuse' } })
  assertEquals((await site.ask('a.localhost')).text, 'a')
  assertEquals((await site.ask('b.localhost')).status, 404)
})

testIsolated('middleware that covers everything runs around tenants, that of a path does not', async () => {
  await using site = await openTenants({ files: { 'a/main.js': says('a') } })
  const ran: string[] = []
  site.router.use(async (_, next) => {
    ran.push('all')
    const response = await next()
    response.headers.set('x-all', '1')
    return response
  })
  site.router.use('/admin', (_, next) => {
    ran.push('admin')
    return next()
  })
  const { text, headers } = await site.ask('a.localhost', '/admin')
  assertEquals([text, headers.get('x-all'), ran], ['a', '1', ['all']])
})

testIsolated('a tenant sets no header beyond what an isolated route may, unless it was granted', async () => {
  const main = `export default { fetch: () => new Response('x', { headers: [
    ['x-own', '1'], ['content-security-policy', 'none'], ['x-frame-options', 'DENY'], ['connection', 'close'],
    ['set-cookie', 'a=1'], ['set-cookie', 'b=2; Domain=localhost'], ['transfer-encoding', 'chunked'],
  ] }) }`
  await using site = await openTenants({
    files: {
      'bare/main.js': main,
      'granted/main.js': main,
      'granted/tenant.json': '{ "may": ["cookies", "headers:content-security-policy"] }',
    },
  })
  const bare = await site.ask('bare.localhost')
  assertEquals([...bare.headers.keys()].sort(), ['content-type', 'x-own'])
  const granted = await site.ask('granted.localhost')
  assertEquals(granted.headers.getSetCookie(), ['a=1'])
  assertEquals(granted.headers.get('content-security-policy'), 'none')
  assertEquals(granted.headers.get('connection'), null)
  const denied = site.events.filter(({ kind }) => kind === 'tenant:denied')
  assertEquals(
    denied.filter(({ metadata }) => metadata.tenant === 'granted').map(({ metadata }) => metadata.reason)
      .sort(),
    ['cookies with Domain', 'headers:connection', 'headers:transfer-encoding', 'headers:x-frame-options'],
  )
})

testIsolated(
  'one bad tenant fails alone, and its settings are named with file and what was wanted',
  async () => {
    await using site = await openTenants({
      files: {
        'good/main.js': says('good'),
        'broken/main.js': says('broken'),
        'broken/tenant.json': '{ "weight": 99, "hosts": ["a:80"], "limits": { "memoryMB": 1 } }',
        'nojson/tenant.json': '{',
        'group/tenant.json': '{ "group": "gold" }',
        'empty/readme.md': 'no program',
        'thief/main.js': says('thief'),
        'thief/tenant.json': '{ "hosts": ["good.localhost"] }',
      },
      tenants: { groups: { free: {} } },
    })
    assertEquals((await site.ask('good.localhost')).text, 'good')
    assertEquals((await site.ask('empty.localhost')).status, 500)
    // Nobody's, as its settings say no host.
    assertEquals((await site.ask('broken.localhost')).text, 'the router')
    const errors = Object.fromEntries(
      site.router.tenants.list().map(({ name, error }) => [name, error?.message]),
    )
    const file = join(site.dir, 'broken', 'tenant.json')
    assertEquals(
      errors.broken,
      `Cannot read ${file}: weight is 99, want an integer from 1 to 16; hosts has "a:80", want a host name without a port, ` +
        'or "*." before one; limits.memoryMB is no option, did you mean limits.memoryMb',
    )
    assertStringIncludes(
      errors.nojson!,
      `Cannot read ${join(site.dir, 'nojson', 'tenant.json')}: it is no JSON`,
    )
    assertStringIncludes(errors.group!, "group is 'gold', want one of the groups that there are: free")
    assertStringIncludes(errors.empty!, 'there is no main.ts, main.js, main.mts, main.mjs, main in ')
    assertStringIncludes(errors.thief!, 'another one has it')
    assertEquals(errors.good, undefined)
  },
)

testIsolated('a link in a folder is refused: who writes there may not read elsewhere', async () => {
  await using site = await openTenants({ files: { 'a/main.js': says('a') } })
  await Deno.symlink('/etc/hostname', join(site.dir, 'a', 'secret.txt'))
  assertEquals((await site.ask('a.localhost')).status, 500)
  assertStringIncludes(site.router.tenants.list()[0]!.error!.message, 'secret.txt is a link, want a file')
})

testIsolated('a trusted folder is bundled with its packages', async () => {
  const router = `import { Hono } from 'hono'
const app = new Hono()
app.get('/hi/:name', (c) => c.text('hi ' + c.req.param('name')))
app.notFound((c) => c.text('nothing here', 404))
app.onError((error) => { throw error })
app.get('/fail', () => fail())
interface Unused { readonly name: string }
function fail(): never {
  throw new RangeError('on purpose')
}
export default app`
  // Packages are found by the project that the folder is in.
  const dir = await Deno.makeTempDir({ dir: new URL('.', import.meta.url).pathname, prefix: '.tmp-' })
  try {
    await Deno.mkdir(join(dir, 'hono'))
    await Deno.writeTextFile(join(dir, 'hono', 'main.ts'), router)
    await Deno.writeTextFile(join(dir, 'hono', 'tenant.json'), '{ "npm": true }')
    await using site = await openTenants({ tenants: { from: dir } })
    const hi = await site.ask('hono.localhost', '/hi/ann')
    assertEquals([hi.status, hi.text], [200, 'hi ann'])
    assertEquals((await site.ask('hono.localhost', '/x')).text, 'nothing here')
    // Its own file and line, and no path of the host.
    assertEquals((await site.ask('hono.localhost', '/fail')).status, 500)
    const { stack } = site.events.find(({ kind }) => kind === 'tenant:failed')!.metadata.error!
    assertMatch(stack!.split('\n')[1]!, /at fail \(main\.ts:9:\d+\)$/, stack)
    assert(!stack!.includes(dir), stack)
    await Deno.writeTextFile(join(dir, 'hono', 'tenant.json'), '{}')
    await Deno.mkdir(join(dir, 'plain'))
    await Deno.writeTextFile(join(dir, 'plain', 'main.ts'), router)
    await site.router.tenants.reload('plain').catch(() => {})
    await site.ask('plain.localhost')
    const failed = site.events.find(({ kind, metadata }) =>
      kind === 'tenant:failed' && metadata.tenant === 'plain'
    )
    assertStringIncludes(failed!.metadata.error!.message, 'hono')
  } finally {
    await Deno.remove(dir, { recursive: true })
  }
})
