/** Programs that share a base, and programs that are dropped for want of memory. */
import { assert, assertEquals } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { baseKey, toBaseSpec } from '../../src/isolate/boot/base.ts'
import { type IsolatedRoute, planPrograms } from '../../src/isolate/plan/program.ts'
import { openVirtualMachines } from '../../src/isolate/boot/virtual_machines.ts'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { openSite, type Runtime, RUNTIMES, testIn } from './fixture.ts'

const FOLDER = fromFileUrl(new URL('./routes/bases/', import.meta.url))

interface Told {
  readonly name: string
  readonly drawn: readonly unknown[]
  readonly count: number
  readonly state: string
}

function toRoute(name: string): IsolatedRoute {
  return {
    file: `${name}.ts`,
    path: `${FOLDER}${name}.ts`,
    pattern: `/${name}`,
    methods: ['GET'],
    mount: false,
  }
}

async function keyOf(name: string, defaults = {}, readEnv = () => 'value'): Promise<string> {
  const { programs: [program] } = await planPrograms([toRoute(name)], { defaults, readEnv })
  return baseKey(toBaseSpec(program), program)
}

Deno.test('programs share a base if their runtimes start alike, and never over an environment', async () => {
  const plain = await keyOf('p1')
  assertEquals(await keyOf('p2'), plain, 'another time limit')
  assertEquals(await keyOf('p1', { cpuMs: 5, limits: { files: 100, logBytes: 1 } }), plain)
  const others = [
    await keyOf('p1', { memoryMb: 64 }),
    await keyOf('p1', { coarseClockUs: 100 }),
    await keyOf('env'),
    await keyOf('env', {}, () => 'another value'),
  ]
  assertEquals(new Set([plain, ...others]).size, 5)
  await stopEsbuild()
})

for (const runtime of RUNTIMES) suite(runtime)

function suite(runtime: Runtime): void {
  const test = testIn(runtime)
  test('programs of one base are themselves, and draw what no other drew', async () => {
    Deno.env.set('MAYFLY_BASE_TEST', 'the value of a variable')
    const site = openSite('bases', { isolate: { vms: 1, runtime } })
    try {
      const first = new Map<string, Told>()
      for (let round = 0; round < 3; round++) {
        for (const name of ['p1', 'p2', 'p3']) {
          const { status, text } = await site.ask(`/${name}`)
          assertEquals(status, 200, text)
          const told: Told = JSON.parse(text)
          const state = runtime === 'deno' ? 'denied' : 'prompt'
          assertEquals([told.name, told.count, told.state], [name, 1, state])
          assertEquals(told.drawn, (first.get(name) ?? told).drawn, 'drawn before the snapshot')
          first.set(name, told)
        }
      }
      const drawn = [...first.values()].flatMap((told) => told.drawn)
      assertEquals(new Set(drawn).size, drawn.length, 'what modules draw when they run')
      assertEquals((await site.ask('/env')).text, 'the value of a variable')
      const ready = site.events.filter(({ kind }) => kind === 'isolate:ready')
      assertEquals(ready.length, 4)
      for (const { metadata } of ready) {
        const { bootMs, loadMs } = metadata as { bootMs: number; loadMs: number }
        assert(loadMs > 0 && loadMs < bootMs, `${loadMs} of ${bootMs}`)
      }
    } finally {
      Deno.env.delete('MAYFLY_BASE_TEST')
      await site.close()
    }
  })

  test(
    'programs over the budget are dropped, the least recently used first, and come back',
    async () => {
      // Not enough for any two beside the base.
      const site = openSite('bases', { isolate: { vms: 1, memoryBudgetMb: 1, runtime } })
      try {
        await site.router.ready()
        const before = new Map<string, Told>()
        for (const name of ['p1', 'p2', 'p3', 'p1', 'p1', 'p2', 'p3']) {
          const { status, text } = await site.ask(`/${name}`)
          assertEquals(status, 200, text)
          const told: Told = JSON.parse(text)
          assertEquals([told.name, told.count], [name, 1])
          const former = before.get(name)
          before.set(name, told)
          // Isolates that share the pool load at different times, and are to see one program.
          if (former !== undefined) assertEquals(told.drawn.slice(0, 2), former.drawn.slice(0, 2))
        }
        const at = await Promise.all(['p1', 'p2', 'p3', 'p2', 'p1'].map((name) => site.ask(`/${name}`)))
        assertEquals(at.map(({ status }) => status), [200, 200, 200, 200, 200])
        const of = (wanted: string) => site.events.filter(({ kind }) => kind === wanted).length
        assert(of('isolate:drop') >= 8, `${of('isolate:drop')} drops`)
        assert(of('isolate:ready') >= of('isolate:drop'))
      } finally {
        await site.close()
      }
    },
  )

  test('a program that fits is not dropped', async () => {
    const site = openSite('bases', { isolate: { vms: 1, memoryBudgetMb: 500, runtime } })
    try {
      for (const name of ['p1', 'p2', 'p3', 'p1']) assertEquals((await site.ask(`/${name}`)).status, 200)
      assertEquals(site.events.filter(({ kind }) => kind === 'isolate:drop'), [])
    } finally {
      await site.close()
    }
  })

  test(
    'a dropped program is gone with its retirement, and one that loads ends with the machines',
    async () => {
      const { programs } = await planPrograms(['p1', 'p2'].map(toRoute), { defaults: { runtime } })
      const machines = await openVirtualMachines({ vms: 1, queue: 10, memoryBudgetMb: 1 })
      try {
        const [first, second] = [await machines.boot(programs[0]), await machines.boot(programs[1])]
        await machines.retire(first)
        const frame = programs[0].warmup[0].frame as Uint8Array<ArrayBuffer>
        const options = { timeoutMs: 5000, keep: false, flow: 0 }
        const refused = await Promise.resolve().then(() => machines.submit(first, frame, options)).catch((
          e,
        ) => e)
        assertEquals(refused.name, 'ClosedError')
        assertEquals((await machines.submit(second, frame, options)).outcome, 'answered')
      } finally {
        await machines.close()
        await stopEsbuild()
      }
    },
  )
}
