import { assert, assertEquals, assertRejects, assertStringIncludes } from '@std/assert'
import { Sandbox, SandboxError, ThrownError } from '@mayfly/mayfly/sandbox'
import type { LifecycleEvent, LifecycleKind } from '@mayfly/mayfly'
import { Shapes } from '../../src/sandbox/shapes.ts'
import { testIsolated } from '../isolated/fixture.ts'
import { inEachSandbox, rejection } from './fixture.ts'

/** The next event of a kind. */
function next(sandbox: Sandbox, kind: LifecycleKind): Promise<LifecycleEvent> {
  return new Promise((resolve) => {
    const stop = sandbox.on(kind, (event) => {
      stop()
      resolve(event)
    })
  })
}

const program = (text: string) => ({ mainModule: 'main.js', modules: { 'main.js': text } })

inEachSandbox({ promoteAfter: 3, promoted: 2 }, ({ runtime, test, sandbox }) => {
  test('a program that is called often gets a snapshot of its own, and answers as before', async () => {
    const text = `let loads = 0
      loads++
      export const bump = () => ++loads
      export default { fetch: async (request) => new Response(new URL(request.url).pathname + await request.text()) }`
    const worker = sandbox().get(`often ${runtime}`, () => program(text))
    const ready = next(sandbox(), 'sandbox:ready')
    const ask = async () => {
      const response = await worker.fetch('http://a.b/c', { method: 'POST', body: 'x' })
      return [response.status, await response.text(), await worker.call('bump')]
    }
    assertEquals(await ask(), [200, '/cx', 2])
    assertEquals(await ask(), [200, '/cx', 2])
    const { metadata } = await ready
    assertEquals((metadata as { name: string }).name, `often ${runtime}`)
    const stats = sandbox().stats().programs.find(({ name }) => name === `often ${runtime}`)
    assertEquals(stats?.warm, true)
    const warm = next(sandbox(), 'sandbox:complete')
    // What the warm-up called has counted, what callers do has not.
    const [status, text2, first] = await ask()
    assertEquals([status, text2], [200, '/cx'])
    assertEquals(await ask(), [200, '/cx', first])
    assertEquals((await warm).metadata, { ...(await warm).metadata, warm: true })
  })

  test('a request and a call find the environment in the snapshot as it was given', async () => {
    const env = { NAME: 'n', BYTES: new Uint8Array([1, 2]), LIST: [1, { a: new Map([[1, 2]]) }] }
    const text = `let calls = 0
      const change = (env) => { calls++; env.NAME += '!'; env.LIST.push(1); return env }
      export class Other { constructor(ctx, env) { this.env = change(env); this.props = ctx.props } see() { return [this.env, this.props] } }
      export default class {
        constructor(ctx, env) { this.env = env; this.props = ctx.props }
        fetch(request, env, ctx) {
          const same = env === this.env && ctx.props === undefined && this.props === undefined
          return Response.json({ same, calls, name: change(env).NAME, bytes: [...env.BYTES], list: env.LIST.length, map: env.LIST[1].a.get(1) })
        }
      }`
    const worker = sandbox().get(`env ${runtime}`, () => ({ ...program(text), env }))
    const other = worker.entrypoint('Other', { props: { user: 'ann' } })
    const look = async () => {
      const { calls, ...told } = await (await worker.fetch('http://a.b/', { headers: { a: 'b' } })).json()
      return [calls, told, await other.call('see')] as const
    }
    const ready = next(sandbox(), 'sandbox:ready')
    const [calls, ...before] = await look()
    await look()
    await ready
    const [callsLater, ...after] = await look()
    assertEquals(after, before)
    assertEquals(after, [
      { same: true, name: 'n!', bytes: [1, 2], list: 3, map: 2 },
      [{ ...env, NAME: 'n!', LIST: [...env.LIST, 1] }, { user: 'ann' }],
    ])
    // It was warmed up, and what that did to the environment is gone.
    assert(calls === 0 && callsLater > 1, `${calls} and ${callsLater} calls`)
  })

  test('props of a request are there before the snapshot and in it, plain or not', async () => {
    const text = `export default {
        async fetch(request, env, { props }) {
          const { tenant, n, missing, map } = props
          return Response.json({ tenant, n, missing: missing === undefined, map: map?.get('a'), body: await request.text() })
        }
      }`
    const worker = sandbox().get(`props ${runtime}`, () => program(text))
    const ask = async (props: Record<string, unknown>) => {
      const request = new Request('http://a.b/', { method: 'POST', body: 'böd\u0000y' })
      return await (await worker.entrypoint('default', { props }).fetch(request)).json()
    }
    const look = async () => [
      await ask({ tenant: 'ä"\ud800', n: 1.5, missing: undefined }),
      await ask({ tenant: 'b', n: 2, map: new Map([['a', 1]]) }),
    ]
    const ready = next(sandbox(), 'sandbox:ready')
    const before = [await look(), await look()]
    await ready
    const wanted = [
      { tenant: 'ä"\ud800', n: 1.5, missing: true, body: 'böd\u0000y' },
      { tenant: 'b', n: 2, missing: true, map: 1, body: 'böd\u0000y' },
    ]
    assertEquals([...before, await look()], [wanted, wanted, wanted])
  })

  test('what callers sent is in no snapshot', async () => {
    const secret = crypto.randomUUID()
    const text = `const seen = [] // /users?token=1 { password }
      export const see = (value, extra) => { seen.push(JSON.stringify([value, extra])); return seen }
      export default { fetch: async (request) => {
        seen.push(request.url, await request.text(), JSON.stringify([...request.headers]))
        return Response.json(seen)
      } }`
    const worker = sandbox().get(`secret ${runtime}`, () => program(text))
    const ready = next(sandbox(), 'sandbox:ready')
    for (let i = 0; i < 3; i++) {
      await worker.call('see', secret, { secret, [secret]: [secret, 77_881] })
      const body = JSON.stringify({ password: secret })
      const headers = { authorization: secret, 'content-type': 'application/json' }
      await worker.fetch(`http://${secret}/${secret}/users?token=${secret}`, {
        method: 'POST',
        body,
        headers,
      })
    }
    await ready
    const told = JSON.stringify(await worker.call('see', 1, 2))
    assert(!told.includes(secret) && !told.includes('77881'), told)
    // Not for nothing: the warm-up has called it, with the shapes.
    assertStringIncludes(told, 'x'.repeat(36))
    assertStringIncludes(told, '/x/users?token=x')
  })

  test('a new version takes the place of the former without a failed call, a bad one is refused', async () => {
    const name = `swapped ${runtime}`
    const version = (n: number) => program(`export const version = () => ${n}`)
    const worker = sandbox().get(name, () => version(1), { version: '1' })
    assertEquals(await worker.call('version'), 1)
    const refused = next(sandbox(), 'sandbox:refused')
    const bad = sandbox().get(name, () => program('throw new RangeError("bad version")'), { version: '2' })
    const error = await rejection(bad.ready(), ThrownError)
    assertEquals(error.message, 'bad version')
    assertStringIncludes((await refused).kind, 'refused')
    assertEquals(await bad.call('version'), 1)
    let done = false
    const calls = (async () => {
      const answers: unknown[] = []
      while (!done) answers.push(await worker.call('version'))
      return answers
    })()
    for (let n = 3; n < 8; n++) await sandbox().get(name, () => version(n), { version: `${n}` }).ready()
    assertEquals(await worker.call('version'), 7)
    done = true
    const answers = await calls as number[]
    assertEquals(answers, answers.toSorted((a, b) => a - b))
    // The same version again asks nobody.
    const again = sandbox().get(name, () => Promise.reject(new Error('not asked')), { version: '7' })
    assertEquals(await again.call('version'), 7)
  })

  test('whether a program loads is known before it is asked anything', async () => {
    const name = `ready ${runtime}`
    const broken = program('export const a = ]')
    const first = await rejection(sandbox().get(name, broken).ready(), ThrownError)
    assertEquals(first.name, 'SyntaxError')
    const thrown = await rejection(
      sandbox().load(program('throw new RangeError("top")')).ready(),
      ThrownError,
    )
    assertEquals(thrown.message, 'top')
    await sandbox().load(program('export const a = 1')).ready()
    await sandbox().get(name, program('export const a = () => 1'), { version: '2' }).ready()
    assertEquals(await sandbox().get(name, broken).call('a'), 1)
  })

  test('snapshots are dropped over their number, and the program goes on', async () => {
    const workers = ['a', 'b', 'c'].map((name) =>
      sandbox().get(`many ${name} ${runtime}`, () => program(`export const name = () => '${name}'`))
    )
    const dropped = next(sandbox(), 'sandbox:drop')
    for (const worker of workers) {
      const ready = next(sandbox(), 'sandbox:ready')
      for (let i = 0; i < 3; i++) await worker.call('name')
      await ready
    }
    await dropped
    const names = []
    for (const worker of workers) names.push(await worker.call('name'))
    assertEquals(names, ['a', 'b', 'c'])
    assertEquals(sandbox().stats().programs.filter(({ warm }) => warm).length, 2)
  })

  test('a program that loads in no snapshot goes on as it is', async () => {
    // In a call there is an answer to a promise that rejects; before the snapshot there is none.
    const worker = sandbox().get(
      `bad ${runtime}`,
      () => program('export const f = () => 1\nthrow new Error("top")'),
    )
    const refused = next(sandbox(), 'sandbox:refused')
    for (let i = 0; i < 4; i++) await rejection(worker.call('f'), ThrownError)
    await refused
    const error = await rejection(worker.call('f'), ThrownError)
    assertEquals(error.message, 'top')
  })

  test('two programs see nothing of each other, nor a program of its earlier calls', async () => {
    const text =
      'let kept = 0; export const f = () => { globalThis.kept = (globalThis.kept ?? 0) + 1; return [++kept, globalThis.kept] }'
    const [one, two] = ['one', 'two'].map((name) => sandbox().get(`${name} ${runtime}`, () => program(text)))
    for (let i = 0; i < 2; i++) {
      assertEquals(await one.call('f'), [1, 1])
      assertEquals(await two.call('f'), [1, 1])
    }
  })
})

testIsolated(
  'of one program nothing shows in another: no name, version, code, environment or log',
  async () => {
    await using sandbox = await Sandbox.open({ vms: 1 })
    const secret = crypto.randomUUID().replaceAll('-', '')
    const mine = sandbox.get(`name-${secret}`, {
      mainModule: `m${secret}.js`,
      modules: {
        [`m${secret}.js`]:
          `console.log('${secret}'); globalThis.s${secret} = '${secret}'\nexport const f = () => { throw new Error('${secret}') }`,
      },
      env: { SECRET: secret },
    }, { version: secret })
    await rejection(mine.call('f'), ThrownError)
    const look = `const seen = []
    const look = (value, depth) => {
      if (depth > 3 || value === null || (typeof value !== 'object' && typeof value !== 'function')) return
      for (const key of Reflect.ownKeys(value)) {
        seen.push(String(key))
        try { const member = value[key]; if (typeof member === 'string') seen.push(member); else look(member, depth + 1) } catch (error) { seen.push(String(error), String(error.stack)) }
      }
    }
    export const f = () => { look(globalThis, 0); seen.push(new Error('x').stack); return seen.filter((text) => text.includes('${secret}')).length + (seen.length > 100 ? 0 : 1000) }
    export const g = async () => { try { return await import('./m${secret}.js') } catch (error) { return error.message } }`
    const other = sandbox.get('other', { ...program(look), limits: { timeoutMs: 30_000 } })
    assertEquals(await other.call('f'), 0)
    assertStringIncludes(await other.call('g') as string, 'Cannot import')
    const error = await rejection(sandbox.run('throw new Error("mine")'), ThrownError)
    assert(!Deno.inspect(error).includes(secret))
  },
)

testIsolated('a loader is asked once, and again after it failed or was forgotten', async () => {
  await using sandbox = await Sandbox.open({ vms: 1, programs: 1 })
  let asked = 0
  const loader = () => {
    asked++
    if (asked === 1) throw new Error('no database')
    return program(`export const f = () => ${asked}`)
  }
  const worker = sandbox.get('one', loader)
  await assertRejects(() => worker.call('f'), Error, 'no database')
  assertEquals([await worker.call('f'), await worker.call('f')], [2, 2])
  await sandbox.get('two', program('export const f = () => 0')).call('f')
  assertEquals(await worker.call('f'), 3)
  const many = await Promise.all([worker.call('f'), worker.call('f'), worker.call('f')])
  assertEquals(many, [3, 3, 3])
})

testIsolated('code over its budget is let go, and its loader asked again', async () => {
  await using sandbox = await Sandbox.open({ vms: 1, codeMb: 1 })
  const asked = { one: 0, two: 0 }
  const get = (name: 'one' | 'two') =>
    sandbox.get(name, () => {
      asked[name]++
      return program(`export const f = () => '${name}' // ${'x'.repeat(700_000)}`)
    })
  for (const name of ['one', 'one', 'two', 'two', 'one'] as const) {
    assertEquals(await get(name).call('f'), name)
  }
  assertEquals(asked, { one: 2, two: 1 })
})

testIsolated('a closed sandbox runs nothing', async () => {
  const sandbox = await Sandbox.open({ vms: 1 })
  const worker = sandbox.load(program('export const f = () => 1'))
  assertEquals(await worker.call('f'), 1)
  await sandbox.close()
  await sandbox.close()
  await rejection(worker.call('f'), SandboxError)
  await rejection(sandbox.run('export default 1'), SandboxError)
})

Deno.test('of a call that is remembered nothing is left but its shape', () => {
  const shapes = new Shapes({
    main: 'a.js',
    modules: [['a.js', 'js', 'export const f = ({ name: [, { deep }] }) => "/users?page a b"']],
  })
  shapes.addCall('default', 'f', [
    'secret',
    77,
    1.25,
    { 'a b': 1, name: ['x', { deep: 'secret' }] },
    new Map(),
  ])
  const body = new TextEncoder().encode('{"a":"secret","b":[9]}')
  const headers = { 'content-type': 'application/json', authorization: 'secret' }
  shapes.addFetch(
    'default',
    new Request('http://h/users/77/Secret?secret1=a&page=2', { method: 'POST', headers }),
    body,
    { page: 'secret', secret1: 'secret', users: true },
  )
  assertEquals(shapes.all, [
    {
      kind: 'call',
      entrypoint: 'default',
      method: 'f',
      args: ['xxxxxx', 1, 1.5, { name: ['x', { deep: 'xxxxxx' }] }, null],
    },
    {
      kind: 'fetch',
      entrypoint: 'default',
      method: 'POST',
      path: '/users/x/x?page=x',
      type: 'application/json',
      body: '{"a":"xxxxxx","b":[1]}',
      props: '{"page":"xxxxxx","users":true}',
    },
  ])
})
