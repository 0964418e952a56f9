/** What a warm-up hears of bindings: never the host, and nothing of what anybody was told. */
import { Router } from '@mayfly/mayfly'
import { Sandbox } from '@mayfly/mayfly/sandbox'
import { assert, assertEquals, assertThrows } from '@std/assert'
import { join } from '@std/path'
import { testIsolated } from '../isolated/fixture.ts'

const PROGRAM = `
const heard = []
export async function ask(text) {
  try {
    const told = await this.env.DB.get(text)
    heard.push(JSON.stringify(told))
    return told
  } catch (error) {
    heard.push(error.code + ' ' + error.message)
    throw error
  }
}
export function list() { return [...new Set(heard)] }`

testIsolated('a warm-up hears the shapes of what the host gave, and a call behind it the host', async () => {
  await using sandbox = await Sandbox.open({ vms: 1, promoteAfter: 3, limits: { timeoutMs: 20_000 } })
  let asked = 0
  const worker = sandbox.get('acme', {
    mainModule: 'main.js',
    modules: { 'main.js': PROGRAM },
    env: {
      DB: {
        get: (key: string) => {
          asked++
          return { key, told: 'very-secret-text', n: 4711, hidden: { password: 'p4ssw0rd' } }
        },
      },
    },
  })
  const ready = Promise.withResolvers<void>()
  sandbox.on('sandbox:ready', () => ready.resolve())
  for (let use = 0; use < 3; use++) await worker.call('ask', 'a-secret-key')
  await ready.promise
  const before = asked
  assertEquals(await worker.call('ask', 'k'), {
    key: 'k',
    told: 'very-secret-text',
    n: 4711,
    hidden: { password: 'p4ssw0rd' },
  })
  assertEquals([before, asked], [3, 4])
  // Only what the program itself has as words is there.
  const heard = await worker.call('list') as string[]
  assert(
    heard.length > 0 && heard.every((text) => !/secret-text|a-secret|4711|p4ss|password/.test(text)),
    heard.join(),
  )
  assert(heard.some((text) => text.includes('"told":"x')), heard.join())
})

testIsolated(
  'a warm-up of a route hears the answers that the router names, and errors where it names none',
  async () => {
    const routesDir = await Deno.makeTempDir()
    const asked: string[] = []
    await Deno.writeTextFile(
      join(routesDir, 'index.ts'),
      `export const isolated = { bindings: ['MAIL', 'count'], warmup: 20 }
const heard = new Set()
export async function GET(ctx) {
  for (const call of [() => ctx.env.count(), () => ctx.env.MAIL.send('x'), () => ctx.env.MAIL.list()]) {
    try { heard.add(JSON.stringify(await call())) } catch (error) { heard.add(error.code + ': ' + error.message) }
  }
  return ctx.send.json([...heard])
}`,
    )
    const bindings = {
      count: () => asked.push('count'),
      MAIL: { send: () => void asked.push('send'), list: () => (asked.push('list'), ['real']) },
    }
    const router = new Router({
      routesDir,
      hotReload: false,
      isolate: {
        vms: 1,
        timeoutMs: 20_000,
        bindings,
        warmupAnswers: { count: 7, MAIL: { send: { sent: 'nobody' } } },
      },
    })
    try {
      await router.ready()
      assertEquals(asked, [])
      const response = await router.fetch(new Request('http://localhost/'))
      assertEquals(await response.json(), [
        '7',
        '{"sent":"nobody"}',
        'ERR_MAYFLY_WARMUP: Cannot call the host: it hears nothing while a program is warmed up',
        '1',
        null,
        '["real"]',
      ])
      assertEquals(asked, ['count', 'send', 'list'])
    } finally {
      await router.close()
      await Deno.remove(routesDir, { recursive: true })
    }
  },
)

Deno.test('answers of a warm-up are of bindings that there are, and data', () => {
  const make = (warmupAnswers: Record<string, unknown>) => () =>
    new Router({ isolate: { bindings: { one: () => 1, MANY: { a: () => 1 } }, warmupAnswers } })
  assertThrows(make({ two: 1 }), TypeError, "has 'two', want a name of bindings: one, MANY")
  assertThrows(make({ MANY: { b: 1 } }), TypeError, "has 'MANY.b', want a name of its functions: a")
  assertThrows(make({ MANY: 1 }), TypeError, 'an object of values')
  assertThrows(make({ one: new Uint8Array(1) }), TypeError, 'without buffers')
  assertThrows(make({ one: () => 1 }), DOMException, 'function')
})
