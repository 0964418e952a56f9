import { assertEquals, assertStringIncludes } from '@std/assert'
import { join } from '@std/path'
import { Router, type TenantFinder } from '@mayfly/mayfly'
import { testIsolated } from '../isolated/fixture.ts'
import { openTenants, says } from './fixture.ts'

testIsolated('a file names tenants with groups and defaults', async () => {
  await using site = await openTenants({})
  await site.write({ 'programs/one/main.js': `export default { fetch: (_, env) => Response.json(env) }` })
  await site.write({ 'two/main.js': `export default { fetch: (_, env) => Response.json(env) }` })
  const file = join(site.dir, 'tenants.json')
  await site.write({
    'tenants.json': JSON.stringify({
      defaults: { env: { from: 'defaults', a: 1 } },
      groups: { free: { env: { from: 'free' }, requestsPerSecond: 2 } },
      tenants: {
        one: { group: 'free', folder: 'programs/one', hosts: ['*.example.com'], env: { b: 2 } },
        two: { hosts: ['www.example.com'] },
        bad: { hosts: ['x.example.com'], weight: 'heavy' },
      },
    }),
  })
  await using router = new Router({
    routesDir: join(site.dir, '..', 'routes'),
    hotReload: false,
    isolate: { vms: 1 },
    tenants: file,
  })
  const ask = async (host: string) => await (await router.fetch(new Request(`http://${host}/`))).text()
  assertEquals(JSON.parse(await ask('a.example.com')), { from: 'free', a: 1, b: 2 })
  assertEquals(JSON.parse(await ask('www.example.com')), { from: 'defaults', a: 1 })
  const bad = router.tenants.list().find(({ name }) => name === 'bad')
  assertEquals(
    bad!.error!.message,
    `Cannot read ${file}: tenants.bad.weight is "heavy", want an integer from 1 to 16`,
  )
  // The group's rate: all are asked in one turn.
  const headers = { accept: 'application/json' }
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => router.fetch(new Request('http://a.example.com/', { headers }))),
  )
  const limited = answers.filter(({ status }) => status === 429)
  assertEquals(limited.length >= 4, true)
  assertEquals(limited[0]!.headers.get('retry-after'), '1')
  assertEquals((await limited[0]!.json()).type, 'tenant-limited')
  assertEquals(JSON.parse(await ask('www.example.com')).from, 'defaults')
})

testIsolated(
  'a function names tenants: asked for their code once a version, and forgotten over `known`',
  async () => {
    let loads = 0
    let version = '1'
    const from: TenantFinder = (request) => {
      const name = new URL(request.url).hostname.split('.')[0]!
      if (name === 'nobody') return null
      if (name === 'wrong') return { name: '', weight: 0, code: 1 } as never
      return {
        name,
        version,
        code: () => {
          loads++
          if (version === 'bad') throw new Error('the database is away')
          return { mainModule: 'main.js', modules: { 'main.js': says(`${name} ${version}`) } }
        },
      }
    }
    await using site = await openTenants({ tenants: { from, known: 2 } })
    assertEquals((await site.ask('a.test')).text, 'a 1')
    assertEquals((await site.ask('a.test')).text, 'a 1')
    assertEquals(loads, 1)
    assertEquals((await site.ask('nobody.test')).text, 'the router')
    assertEquals((await site.ask('wrong.test')).status, 500)
    const swapped = new Promise((resolve) => site.router.on('tenant:swap', resolve))
    version = '2'
    await site.ask('a.test')
    await swapped
    assertEquals((await site.ask('a.test')).text, 'a 2')
    const refused = new Promise((resolve) => site.router.on('tenant:refused', resolve))
    version = 'bad'
    assertEquals((await site.ask('a.test')).text, 'a 2')
    await refused
    const [row] = site.router.tenants.list()
    assertEquals([row!.version, row!.error!.message], ['2', 'the database is away'])
    version = '3'
    await site.ask('b.test')
    await site.ask('c.test')
    assertEquals(site.router.tenants.list().map(({ name }) => name), ['b', 'c'])
    // Its program was forgotten with it.
    assertEquals((await site.ask('a.test')).text, 'a 3')
  },
)

testIsolated('a failure is answered by the tenant’s own page, and tells nothing of its program', async () => {
  const fails = `export default { fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/spin') for (;;);
    if (pathname === '/exit') Deno.exit(3)
    if (pathname === '/hog') { const all = []; for (;;) all.push(new Uint8Array(1 << 25).fill(1)) }
    throw new TypeError('secret words of the program')
  } }`
  await using site = await openTenants({
    files: {
      'bare/main.js': fails,
      'page/main.js': fails,
      'page/_error.html': '<h1>{{status}}</h1><p>{{ title }}</p>',
      'module/main.js': fails,
      'module/_error.ts':
        `export default { fetch: (_: Request, __: unknown, ctx) => Response.json({ own: true, ...ctx.props }) }`,
    },
    tenants: { defaults: { limits: { timeoutMs: 3000, memoryMb: 96 } } },
  })
  for (const [path, status] of [['/', 500], ['/spin', 504], ['/exit', 502], ['/hog', 507]] as const) {
    const bare = await site.ask('bare.localhost', path, { headers: { accept: 'application/json' } })
    assertEquals([bare.status, JSON.parse(bare.text).status], [status, status], path)
    assertEquals(bare.text.includes('secret'), false)
    const page = await site.ask('page.localhost', path)
    assertEquals(page.status, status)
    assertStringIncludes(page.text, `<h1>${status}</h1><p>This site`)
    const module = await site.ask('module.localhost', path)
    assertEquals(module.status, status)
    const { own, status: told, tenant } = JSON.parse(module.text)
    assertEquals([own, told, tenant], [true, status, 'module'])
  }
  const { metadata } = site.events.find(({ kind }) => kind === 'tenant:failed')!
  assertEquals([metadata.tenant, metadata.error!.message], ['bare', 'secret words of the program'])
})

testIsolated('tenants never see each other, nor do their errors and logs name one', async () => {
  const secret = `secret-${crypto.randomUUID()}`
  const plants = `globalThis.planted = env.SECRET
    Object.prototype.planted = env.SECRET
    try { localStorage.setItem('planted', env.SECRET) } catch {}
    try { Deno.writeTextFileSync('/tmp/planted', env.SECRET) } catch {}
    try { Deno.env.set('PLANTED', env.SECRET) } catch {}
    try { new BroadcastChannel('planted').postMessage(env.SECRET) } catch {}
    console.log('the log of', env.SECRET)`
  const looks = `const found = []
    const note = (where, look) => { try { const value = look(); if (value) found.push([where, String(value)]) } catch {} }
    note('global', () => globalThis.planted)
    note('prototype', () => ({}).planted)
    note('storage', () => localStorage.getItem('planted'))
    note('file', () => Deno.readTextFileSync('/tmp/planted'))
    note('variable', () => Deno.env.get('PLANTED'))
    note('memory', () => JSON.stringify(globalThis).includes('secret-') && 'globalThis')`
  await using site = await openTenants({
    files: {
      'alice/main.js': `export default { fetch(_, env) { ${plants}
        if (_.url.endsWith('/throw')) throw new Error(env.SECRET)
        return new Response('planted') } }`,
      'alice/tenant.json': JSON.stringify({ env: { SECRET: secret } }),
      'mallory/main.js': `export default { fetch(_, env) { ${looks}
        if (_.url.endsWith('/throw')) throw new Error('of mallory')
        console.log('the log of mallory')
        return Response.json({ found, env }) } }`,
    },
  })
  // Both as code that nobody has seen, and with snapshots of their own.
  for (let round = 0; round < 60; round++) {
    assertEquals(
      (await site.ask('alice.localhost', round % 3 === 2 ? '/throw' : '/')).status,
      round % 3 === 2 ? 500 : 200,
    )
    const { status, text } = await site.ask('mallory.localhost', round % 3 === 1 ? '/throw' : '/')
    if (status === 200) assertEquals(JSON.parse(text), { found: [], env: {} })
    assertEquals(text.includes('alice') || text.includes(secret), false)
  }
  const ofMallory = site.events.filter(({ metadata }) => metadata.tenant === 'mallory')
  assertEquals(ofMallory.length > 40, true)
  for (const { metadata } of ofMallory) {
    const words = Deno.inspect({ ...metadata, stack: metadata.error?.stack })
    assertEquals(words.includes(secret) || words.includes('alice'), false, words)
  }
})
