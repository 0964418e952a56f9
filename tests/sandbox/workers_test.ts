/** Programs as people write them for Dynamic Workers, with nothing changed but where the loader comes from. */
import { assert, assertEquals, assertRejects } from '@std/assert'
import type { SandboxCode } from '@mayfly/mayfly/sandbox'
import { inEachSandbox } from './fixture.ts'

const worker = (text: string, more: Partial<SandboxCode> = {}): SandboxCode => ({
  compatibilityDate: '2026-01-01',
  mainModule: 'index.js',
  modules: { 'index.js': text },
  globalOutbound: null,
  ...more,
})

inEachSandbox({}, ({ test, sandbox }) => {
  test('hello: one module, one request', async () => {
    const code = worker(
      `export default { async fetch(request, env, ctx) { return new Response('Hello from a dynamic Worker') } }`,
    )
    const response = await sandbox().load(code).getEntrypoint().fetch('http://x/')
    assertEquals([response.status, await response.text()], [200, 'Hello from a dynamic Worker'])
  })

  test('an environment of data', async () => {
    const code = worker(
      `export default { fetch: (request, env) => Response.json({ tier: env.TENANT.tier, limit: env.LIMIT }) }`,
      {
        env: { TENANT: { tier: 'gold' }, LIMIT: 5 },
      },
    )
    const response = await sandbox().load(code).fetch('http://x/')
    assertEquals(await response.json(), { tier: 'gold', limit: 5 })
  })

  test('get by a name that tells the version', async () => {
    let loads = 0
    const get = (id: string) =>
      sandbox().get(id, () => {
        loads++
        return worker(`export default { fetch: () => new Response('${id}') }`)
      })
    for (const id of ['shop:v1', 'shop:v1', 'shop:v2', 'shop:v1']) {
      assertEquals(await (await get(id).getEntrypoint().fetch('http://x/')).text(), id)
    }
    assertEquals(loads, 2)
  })

  test('a router of paths and methods, with a body', async () => {
    const code = worker(`
      const todos = { list: () => ['milk'], add: async (request) => [...todos.list(), (await request.json()).title] }
      export default { async fetch(request) {
        const { pathname } = new URL(request.url)
        if (pathname !== '/todos') return new Response('Not found', { status: 404 })
        return Response.json(request.method === 'POST' ? await todos.add(request) : todos.list(), { status: request.method === 'POST' ? 201 : 200 })
      } }`)
    const todos = sandbox().load(code)
    const add = await todos.fetch('http://x/todos', { method: 'POST', body: '{"title":"bread"}' })
    assertEquals([add.status, await add.json()], [201, ['milk', 'bread']])
    assertEquals((await todos.fetch('http://x/none')).status, 404)
    assertEquals(await (await todos.fetch('http://x/todos')).json(), ['milk'])
  })

  test('a webhook transform: headers in, headers out', async () => {
    const code = worker(`export default { async fetch(request) {
      const event = await request.json()
      if (request.headers.get('x-event') !== 'order.paid') return new Response(null, { status: 204 })
      return Response.json({ text: \`Paid: \${event.total} \${event.currency.toUpperCase()}\` }, { headers: { 'x-handled-by': 'transform' } })
    } }`)
    const hook = sandbox().load(code)
    const body = JSON.stringify({ total: 12.5, currency: 'eur' })
    const paid = await hook.fetch('http://x/', { method: 'POST', body, headers: { 'x-event': 'order.paid' } })
    assertEquals([paid.headers.get('x-handled-by'), await paid.json()], ['transform', {
      text: 'Paid: 12.5 EUR',
    }])
    const other = await hook.fetch('http://x/', {
      method: 'POST',
      body,
      headers: { 'x-event': 'order.made' },
    })
    assertEquals([other.status, await other.text()], [204, ''])
  })

  test('code of a language model, called as a function', async () => {
    const code = worker(`export async function run({ rows }) {
      const by = Map.groupBy(rows, (row) => row.city)
      return [...by].map(([city, own]) => ({ city, mean: own.reduce((sum, { price }) => sum + price, 0) / own.length }))
    }`)
    const rows = [{ city: 'Ulm', price: 2 }, { city: 'Bonn', price: 5 }, { city: 'Ulm', price: 4 }]
    assertEquals(await sandbox().load(code).getEntrypoint().run({ rows }), [{ city: 'Ulm', mean: 3 }, {
      city: 'Bonn',
      mean: 5,
    }])
  })

  test('entry points that are classes, with props', async () => {
    const code = worker(
      `
      export class Reports {
        constructor(ctx, env) { this.ctx = ctx; this.env = env }
        async fetch(request) { return Response.json({ user: this.ctx.props.user, region: this.env.REGION }) }
        total(items) { return items.reduce((sum, item) => sum + item, 0) * this.ctx.props.factor }
      }
      export default { fetch: () => new Response('default') }`,
      { env: { REGION: 'eu' } },
    )
    const reports = sandbox().load(code).getEntrypoint('Reports', { props: { user: 'ann', factor: 2 } })
    assertEquals(await (await reports.fetch('http://x/')).json(), { user: 'ann', region: 'eu' })
    assertEquals(await reports.total([1, 2, 3]), 12)
    assertEquals(await reports.call('total', [1, 2, 3]), 12)
    // Awaited, it is no promise; and what there is not says so.
    assertEquals(await (await Promise.resolve(reports)).total([4]), 8)
    await assertRejects(() => reports.missing(1), Error, 'missing')
  })

  test('several modules: JavaScript, JSON, text, bytes, folders', async () => {
    const code = worker('', {
      mainModule: 'src/index.js',
      modules: {
        'src/index.js':
          `import { render } from './lib/render.js'\nimport config from '../config.json'\nimport page from './page.html'\nimport icon from './icon.bin'
          export default { fetch: () => new Response(render(page, { ...config, size: icon.byteLength }), { headers: { 'content-type': 'text/html' } }) }`,
        'src/lib/render.js':
          `export const render = (page, data) => page.replaceAll(/{(\\w+)}/g, (_, name) => data[name])`,
        'config.json': { json: { title: 'Shop' } },
        'src/page.html': { text: '<h1>{title}</h1>{size}' },
        'src/icon.bin': { data: new Uint8Array(7) },
      },
    })
    const response = await sandbox().load(code).fetch('http://x/')
    assertEquals([response.headers.get('content-type'), await response.text()], [
      'text/html',
      '<h1>Shop</h1>7',
    ])
  })

  test('work behind the response, and a stream of chunks', async () => {
    const code = worker(`export default { async fetch(request, env, ctx) {
      ctx.waitUntil(Promise.resolve().then(() => console.log('logged')))
      const encoder = new TextEncoder()
      const chunks = ['one ', 'two ', 'three'].values()
      return new Response(new ReadableStream({ pull(controller) {
        const { value, done } = chunks.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      } }))
    } }`)
    assertEquals(await (await sandbox().load(code).fetch('http://x/')).text(), 'one two three')
  })

  test('a plug-in in TypeScript that validates its input', async () => {
    const code = worker('', {
      mainModule: 'plugin.ts',
      modules: {
        'plugin.ts': `import { type Rule, rules } from './rules.ts'
          export function check(input: Record<string, unknown>): string[] {
            return rules.filter((rule: Rule) => !rule.test(input[rule.field])).map(({ field }) => field)
          }`,
        'rules.ts': `export interface Rule { field: string; test(value: unknown): boolean }
          export const rules: readonly Rule[] = [{ field: 'age', test: (value) => Number.isInteger(value) }, { field: 'name', test: (value): value is string => typeof value === 'string' }]`,
      },
    })
    const plugin = sandbox().load(code).getEntrypoint()
    assertEquals(await plugin.check({ age: 1.5, name: 'ann' }), ['age'])
  })

  test('a response says nothing of its times unless that is asked for', async () => {
    const response = await sandbox().load(worker(`export default { fetch: () => new Response('x') }`)).fetch(
      'http://x/',
    )
    assertEquals([await response.text(), response.headers.get('server-timing')], ['x', null])
  })

  test('what is no program is refused in words', () => {
    const refused: [Partial<SandboxCode>, string][] = [
      [{ env: { MAIL: { send: () => {}, key: 1 } } }, 'MAIL has functions, and key is number'],
      [{ env: { 'a b': () => 1 } }, 'is called'],
      [{ globalOutbound: {} as never }, 'allow is none'],
      [{ outbound: { allow: ['ftp://a.com'] } }, 'a host is'],
      [{ outbound: 5 as never }, 'outbound is 5'],
      [{ limits: { subRequests: 3 } as never }, 'subRequests'],
      [{ mainModule: 'none.js' }, 'mainModule is "none.js"'],
      [{ modules: { 'index.js': 'a', '../x.js': 'b' } }, 'a module is called'],
      [{ modules: { 'index.js': 'a', 'x.py': 'b' } }, 'no known ending'],
      [{ modules: { 'index.js': { cjs: 'a' } as never } }, "of the kind 'cjs'"],
    ]
    return Promise.all(refused.map(async ([more, words]) => {
      const error = await sandbox().load(worker('export default 1', more)).ready().then(
        () => null,
        (error: Error) => error,
      )
      assert(error?.message.includes(words), `${words}: ${error?.message}`)
    })).then(() => {})
  })
})
