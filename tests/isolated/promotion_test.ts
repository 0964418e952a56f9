/** Programs of a server answer before their warm-up, and are warm behind it. */
import { assert, assertEquals, assertMatch } from '@std/assert'
import { deadline } from '@std/async'
import { openVirtualMachines } from '../../src/isolate/boot/virtual_machines.ts'
import { until } from '../until.ts'
import { createWorkerSite, withServer, type WorkerSite } from './worker_site.ts'
import { testIsolated } from './fixture.ts'

interface Ready {
  readonly program: string
  readonly warm?: boolean
  readonly settled?: boolean
}

/** A site whose machines are real. */
function openServed(folder: string): WorkerSite {
  return createWorkerSite(folder, {
    openMachines: openVirtualMachines,
    isolate: { vms: 1 },
    startWaitMs: 60_000,
    requestTimeoutMs: 0,
  })
}

function readyOf({ events }: WorkerSite): Ready[] {
  return events.filter(({ kind }) => kind === 'isolate:ready').map(({ metadata }) => metadata as Ready)
}

testIsolated('a program answers before its warm-up, and is the same one behind it', async () => {
  const site = openServed('bases')
  await withServer(site, async (origin) => {
    const ask = async () => await (await fetch(`${origin}/p2`)).json()
    const first = await ask()
    assertEquals([first.name, first.count], ['p2', 1])
    const ofIt = () => readyOf(site).filter(({ program }) => program === readyOf(site)[0].program)
    assertEquals(readyOf(site)[0].warm, false)
    // Each answer is right while the snapshots change places under them.
    const clients = Array.from({ length: 4 }, async () => {
      for (let over = false; !over;) {
        over = readyOf(site).filter(({ warm }) => warm === true).length >= 4
        const { name, count, drawn } = await ask()
        assertEquals([name, count], ['p2', 1])
        // By the generators of the request; a key comes from elsewhere.
        assertEquals(drawn.slice(0, 2), first.drawn.slice(0, 2))
      }
    })
    await deadline(Promise.all(clients), 120_000)
    assertEquals(ofIt().map(({ warm }) => warm), [false, true])
    assert(readyOf(site).every(({ warm, settled }) => warm === false || typeof settled === 'boolean'))
  })
})

testIsolated('a program that is asked for is warm before those that are not', async () => {
  const site = openServed('bases')
  await withServer(site, async (origin) => {
    const answer = await fetch(`${origin}/p3`)
    const { name } = await answer.json()
    assertEquals(name, 'p3')
    await until('the warm snapshot', () => readyOf(site).some(({ warm }) => warm === true))
    const ids = new Map(
      [...site.app.isolated.isolation!.programs.values()].map((
        { plan },
      ) => [plan.id, plan.handlers[0].route]),
    )
    const first = readyOf(site).find(({ warm }) => warm === true)!
    assertMatch(ids.get(first.program)!.pattern, /p3/)
  })
})
