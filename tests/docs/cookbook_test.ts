/** The recipes of the cookbook, taken from their page and run in machines. */
import { assert, assertEquals, assertMatch, assertRejects } from '@std/assert'
import { join, toFileUrl } from '@std/path'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { testIsolated } from '../isolated/fixture.ts'

const PAGE = new URL('../../docs/cookbook.md', import.meta.url)

/** Blocks by the name in their first line. */
function findRecipes(page: string): Map<string, string> {
  return new Map(
    [...page.matchAll(/```ts\n\/\/ ([\w.]+)\n([^]*?)```\n/g)].map(([, name, code]) => [name!, code!]),
  )
}

const folder = await Deno.makeTempDir()
const recipes = findRecipes(await Deno.readTextFile(PAGE))
for (const [name, code] of recipes) await Deno.writeTextFile(join(folder, name), code)
addEventListener('unload', () => Deno.removeSync(folder, { recursive: true }))

let sandbox: Sandbox
const test = (name: string, fn: () => Promise<void>) =>
  testIsolated(`cookbook: ${name}`, async () => {
    sandbox ??= await Sandbox.open({ vms: 1 })
    await fn()
  })
Deno.test.afterAll(() => sandbox?.close())

// deno-lint-ignore no-explicit-any
const load = (name: string): Promise<any> => import(toFileUrl(join(folder, name)).href)

Deno.test('every block of TypeScript in the cookbook is a recipe with a test', async () => {
  const page = await Deno.readTextFile(PAGE)
  assertEquals(page.match(/^```ts$/gm)?.length, recipes.size)
  assertEquals([...recipes.keys()].sort(), ['agent.ts', 'grade.ts', 'host.ts', 'plugins.ts', 'webhooks.ts'])
})

test('webhook transforms', async () => {
  const { createHooks } = await load('webhooks.ts')
  const handler: (request: Request) => Promise<Response> = createHooks(sandbox)
  const ask = async (method: string, body: string | null, path = '/hooks/ada') => {
    const response = await handler(new Request(`http://x${path}`, { method, body }))
    return [response.status, await response.text()] as const
  }
  const event = '{"user":{"name":"Ada"}}'
  assertEquals((await ask('POST', event))[0], 404)
  assertEquals((await ask('PUT', 'export default (event) => {', '/hooks/new'))[0], 422)
  assertEquals((await ask('POST', event, '/hooks/new'))[0], 404)
  const first =
    'interface E { user: { name: string } }\nexport default ({ user }: E) => ({ text: `Hello ${user.name}` })'
  assertEquals(await ask('PUT', first), [200, 'Saved'])
  assertEquals(await ask('POST', event), [200, '{"text":"Hello Ada"}'])
  // One that does not load is refused, and the former one goes on.
  const [status, text] = await ask('PUT', 'export default (event) => {\n  return ]')
  assertEquals([status, JSON.parse(text).name], [422, 'SyntaxError'])
  assertMatch(JSON.parse(text).stack, /hook\.ts:2/)
  assertEquals(await ask('POST', event), [200, '{"text":"Hello Ada"}'])
  assertEquals(await ask('PUT', 'export default ({ user }) => { console.log("hm"); return user.none.x }'), [
    200,
    'Saved',
  ])
  const [failed, why] = await ask('POST', event)
  const { name, logs } = JSON.parse(why)
  assertEquals([failed, name, logs], [422, 'TypeError', 'hm\n'])
  assertEquals(await ask('PUT', 'export default () => { for (;;); }'), [200, 'Saved'])
  assertEquals(JSON.parse((await ask('POST', event))[1]).name, 'TimeoutError')
  assertEquals((await ask('PUT', 'x'.repeat(100_001)))[0], 413)
  assertEquals((await ask('DELETE', null))[0], 405)
  assertEquals((await ask('POST', event, '/hooks/../etc'))[0], 404)
})

test("a language model's code, in a loop of tool calls", async () => {
  const { ask, chatCompletions } = await load('agent.ts')
  const call = (id: string, args: unknown, name = 'run_javascript') => ({
    id,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  })
  // A model that errs first: each turn is what it says, and what it must have been told before.
  const turns = [
    {
      told: /^Which sum\?$/,
      calls: [call('a', { code: 'export default null.x' }), call('b', '{'), call('c', {}, 'rm')],
    },
    { told: /run_javascript with/, calls: [call('d', { code: 'for (;;);' })] },
    {
      told: /TimeoutError|longer than 2000 ms/,
      calls: [
        call('e', { code: 'console.log("adding"); export default () => [1, 2, 3].reduce((a, b) => a + b)' }),
      ],
    },
    { told: /^adding\nAnswer: 6$/, calls: [] },
  ]
  const told: string[] = []
  let authorization: string | null = ''
  const model = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: () => {} }, async (request) => {
    authorization = request.headers.get('authorization')
    const { messages, tools } = await request.json()
    assertEquals(tools[0].function.name, 'run_javascript')
    const last = messages.at(-1)
    told.push(...messages.slice(-3).map(({ content }: { content: string }) => content))
    const { told: expected, calls } = turns.find((_, turn) =>
      turn === messages.filter((m: { role: string }) => m.role === 'assistant').length
    )!
    assertMatch(last.content, expected)
    const message = calls.length === 0
      ? { role: 'assistant', content: 'It is 6.' }
      : { role: 'assistant', content: null, tool_calls: calls }
    return Response.json({ choices: [{ message }] })
  })
  try {
    const url = `http://127.0.0.1:${model.addr.port}/v1/chat/completions`
    assertEquals(await ask(sandbox, chatCompletions(url, 'secret', 'any'), 'Which sum?'), 'It is 6.')
  } finally {
    await model.shutdown()
  }
  assertEquals(authorization, 'Bearer secret')
  assert(told.some((text) => /TypeError.*\n\s+at main\.js:1/.test(text ?? '')), told.join('\n'))
  const stubborn = () =>
    Promise.resolve({
      role: 'assistant',
      content: null,
      tool_calls: [call('x', { code: 'export default 1' })],
    })
  await assertRejects(() => ask(sandbox, stubborn, 'x'), Error, 'after 8 turns')
})

test('plug-ins', async () => {
  const { Plugins } = await load('plugins.ts')
  const plugins = join(folder, 'plugins')
  await Deno.mkdir(plugins)
  const files = {
    '1-discount.ts':
      'export const order = (order: { items: unknown[] }) => ({ ...order, discount: order.items.length > 1 ? 10 : 0 })',
    '2-broken.ts': 'export const order = () => { throw new Error("no") }',
    '3-nonsense.ts': 'export const order = (order: object) => ({ ...order, discount: 100 })',
    '4-hang.ts': 'export const order = () => { for (;;); }',
    '5-note.ts':
      'export const order = (order: { notes: string[], discount: number }) => ({ ...order, notes: [...order.notes, `${order.discount} % off`] })',
    'README.md': 'no plug-in',
  }
  for (const [name, code] of Object.entries(files)) await Deno.writeTextFile(join(plugins, name), code)
  const host = new Plugins(sandbox)
  await host.load(plugins)
  const items = [{ name: 'tea', cents: 320 }, { name: 'cake', cents: 450 }]
  const { warn } = console
  const warnings: string[] = []
  console.warn = (text: string) => warnings.push(text)
  try {
    for (let i = 0; i < 5; i++) {
      assertEquals(await host.order({ items, discount: 0, notes: [] }), {
        items,
        discount: 10,
        notes: ['10 % off'],
      })
    }
  } finally {
    console.warn = warn
  }
  assertEquals(warnings.length, 9)
  assertMatch(
    warnings.join('\n'),
    /2-broken\.ts: no[^]*3-nonsense\.ts: It gave no order[^]*4-hang\.ts: .*100 ms/,
  )
})

test('a host of many tenants', async () => {
  const { createHost } = await load('host.ts')
  const tenants = join(folder, 'tenants')
  const save = async (name: string, code: string) => {
    await Deno.mkdir(join(tenants, name), { recursive: true })
    await Deno.writeTextFile(join(tenants, name, 'main.ts'), code)
  }
  await save(
    'acme',
    `export default { fetch: (request: Request, env: { TENANT: string }) => new Response(env.TENANT + ' ' + new URL(request.url).pathname, { headers: [['set-cookie', 'a=1; Domain=example.com'], ['set-cookie', 'b=2']] }) }`,
  )
  await save('globe', 'export default { fetch() { throw new Error("secret of globe") } }')
  await save('spin', 'export default { fetch() { for (;;); } }')
  const handler: (request: Request) => Promise<Response> = createHost(sandbox, tenants, 'example.com')
  const ask = async (host: string, path = '/') => {
    const response = await handler(new Request(`http://${host}${path}`))
    return [response.status, await response.text(), response.headers.getSetCookie().join()] as const
  }
  const { error } = console
  const errors: string[] = []
  console.error = (text: string) => errors.push(text)
  try {
    assertEquals(await ask('acme.example.com', '/a'), [200, 'acme /a', 'b=2'])
    assertEquals(await ask('globe.example.com'), [500, 'The site failed', ''])
    assertEquals((await ask('spin.example.com'))[0], 504)
    for (
      const host of [
        'none.example.com',
        'example.com',
        'acme.example.org',
        'a.acme.example.com',
        '..example.com',
      ]
    ) {
      assertEquals((await ask(host).catch(() => [404]))[0], 404, host)
    }
    await save('acme', `export default { fetch: () => new Response('a longer second version') }`)
    // The former version serves until the new one has loaded.
    for (let i = 0; (await ask('acme.example.com'))[1] !== 'a longer second version'; i++) assert(i < 1000)
    await save('acme', 'export default {')
    for (let i = 0; i < 10; i++) assertEquals((await ask('acme.example.com'))[1], 'a longer second version')
  } finally {
    console.error = error
  }
  assertMatch(errors[0]!, /^globe: Error: secret of globe\n\s+at .*main\.ts:1/)
})

test('grading student code', async () => {
  const { grade } = await load('grade.ts')
  const cases = [{ args: [[3, 1, 2]], expected: [1, 2, 3] }, { args: [[]], expected: [] }, {
    args: [[1]],
    expected: [1],
  }]
  const good = 'export const solve = (list: number[]): number[] => list.toSorted((a, b) => a - b)'
  assertEquals(await grade(sandbox, good, cases), { passed: 3, of: 3, remarks: [] })
  const half = 'export const solve = (list: number[]) => { console.log(list.length); return list }'
  const { passed, remarks } = await grade(sandbox, half, cases)
  assertEquals([passed, remarks], [2, ['Case 1: solve([ 3, 1, 2 ]) gave [ 3, 1, 2 ]\n3\n']])
  // It knows nothing of the cases, so it cannot make them equal.
  const cheat =
    `Array.isArray = Object.is = () => true; JSON.stringify = () => ''; export const solve = () => new Proxy([], { get: () => 0 })`
  assertEquals((await grade(sandbox, cheat, cases)).passed < 3, true)
  const hang = 'export const solve = (list) => { if (list.length > 2) for (;;); return list }'
  assertMatch((await grade(sandbox, hang, cases)).remarks[0], /^Case 1: TimeoutError/)
  assertMatch((await grade(sandbox, 'export const other = 1', cases)).remarks[2], /does not export it/)
})
