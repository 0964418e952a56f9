/** Handlers that do not keep what their trial promised: the events and the lines that tell of them. */
import { assert, assertEquals, assertMatch } from '@std/assert'
import type { IsolateMetadata, LifecycleEvent } from '@mayfly/mayfly'
import { openSite, testIsolated } from './fixture.ts'
import { ScriptedMachines } from './scripted_machines.ts'
import { createWorkerSite, errorsOf } from './worker_site.ts'

/** What events of a kind tell. */
function toldBy(events: readonly LifecycleEvent[], wanted: LifecycleEvent['kind']): IsolateMetadata[] {
  return events.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata as IsolateMetadata)
}

Deno.test('a handler that is slower after the snapshot is told at the start, with the figures', async () => {
  const trial = { handler: 0, shape: 'GET /quick', warmUs: 300, runUs: 31_000 }
  const site = createWorkerSite('limits', {
    openMachines: () => Promise.resolve(new ScriptedMachines(() => ({}), [trial])),
  })
  const told = await errorsOf(async () => {
    await site.ask('/quick')
    await site.close()
  })
  const about = toldBy(site.events, 'isolate:unsettled').find(({ handler }) => handler?.endsWith('/quick.ts'))
  assertEquals([about?.warmMicros, about?.trialMicros], [300, 31_000])
  const line = told.find((line) => line.includes('/quick.ts'))!
  assertMatch(
    line,
    /^mayfly: GET .*quick\.ts is not warm: GET \/quick took 0\.30 ms at the end of its warm-up and 31 ms after/,
  )
  assertMatch(line, /isolate\.recordWarmup/)
})

Deno.test('a shape that stays slow is told once, with what to do', async () => {
  const trial = { handler: 0, shape: 'GET /quick', warmUs: 100, runUs: 100 }
  const site = createWorkerSite('limits', {
    openMachines: () => Promise.resolve(new ScriptedMachines(() => ({ runUs: 4000 }), [trial])),
  })
  const told = await errorsOf(async () => {
    for (let i = 0; i < 60; i++) await site.ask('/quick?page=secret')
    await site.close()
  })
  const [{ handler, shape, runMicros, trialMicros }, ...more] = toldBy(site.events, 'isolate:cold')
  assertEquals(more, [])
  assertMatch(handler!, /^GET .*quick\.ts$/)
  assertEquals([shape, runMicros, trialMicros], [
    { method: 'GET', path: '/quick', query: ['page'], type: '', bodyBytes: 0 },
    4000,
    100,
  ])
  const lines = told.filter((line) => line.includes('is slow for'))
  assertEquals(lines.length, 1)
  assertMatch(
    lines[0],
    /quick\.ts is slow for GET \/quick\?page: 4\.0 ms at best, 0\.10 ms in its trial; give it requests/,
  )
  assert(!lines[0].includes('secret'))
})

testIsolated('a way that the warm-up never went is told of, and one that it went is not', async () => {
  const site = openSite('cold-shapes')
  const told = await errorsOf(async () => {
    for (let i = 0; i < 30; i++) assertEquals((await site.ask('/work?n=1')).text, '0')
    for (let i = 0; i < 30; i++) await site.ask('/work?rounds=5000000')
    await site.close()
  })
  const cold = toldBy(site.events, 'isolate:cold')
  const slow = cold.filter(({ runMicros, trialMicros }) => runMicros! > 10 * trialMicros!)
  assertEquals(slow.map(({ shape }) => shape?.query), [['rounds']])
  // A busy host may hold up every one of some thirty quick requests, by a little.
  assert(cold.length <= 2, Deno.inspect(cold))
  assertEquals(told.filter((line) => line.includes('is slow for')).length, cold.length)
})
