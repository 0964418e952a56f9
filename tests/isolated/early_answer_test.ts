/** Answers that are told before their machines are reset, and what is told afterwards. */
import { assert, assertEquals } from '@std/assert'
import { MachineReset } from '../../src/isolate/machines/machine_reset.ts'
import type { Completion } from '../../src/isolate/machines/completion.ts'
import { until } from '../until.ts'
import { OF_PROGRAMS, openSite, type Site, testIsolated } from './fixture.ts'
import { ScriptedMachines, toFrame } from './scripted_machines.ts'
import { createWorkerSite, type WorkerSite } from './worker_site.ts'

/** A site whose machines give these completions, with the resets to end. */
function scripted(script: Partial<Completion> = {}): { site: WorkerSite; resets: MachineReset[] } {
  const resets: MachineReset[] = []
  const next = () => {
    const reset = new MachineReset('resetting', 0, 0)
    resets.push(reset)
    return { reset, ...script }
  }
  return {
    site: createWorkerSite('limits', { openMachines: () => Promise.resolve(new ScriptedMachines(next)) }),
    resets,
  }
}

/** Events of requests: kind and what is told of the reset. */
function told({ events }: WorkerSite): unknown[] {
  return events.filter(({ kind }) => kind.startsWith('isolate:') && !OF_PROGRAMS.has(kind))
    .map(({ kind, metadata }) => {
      const { resetMicros, dirtyPages } = metadata as Record<string, unknown>
      return [kind, resetMicros, dirtyPages]
    })
}

Deno.test('an answer does not wait for the reset, and its event does', async () => {
  const { site, resets } = scripted()
  assertEquals((await site.ask('/quick')).text, 'done')
  assertEquals((await site.ask('/quick')).text, 'done')
  assertEquals(told(site), [])
  resets[1].end('clean', 12.5, 51)
  resets[0].end('clean', 11, 50)
  assertEquals(told(site), [['isolate:complete', 12.5, 51], ['isolate:complete', 11, 50]])
  await site.close()
})

Deno.test('a machine that is lost in its reset is told, and the answer stands', async () => {
  const { site, resets } = scripted()
  assertEquals((await site.ask('/quick')).text, 'done')
  resets[0].end('lost', 3, 0)
  assertEquals(told(site), [['isolate:complete', 3, 0], ['isolate:lost', 3, 0]])
  await site.close()
})

const REFUSED = [{ call: 'socket', reason: 'network', times: 1 }] as const
const OVER = toFrame({ error: { name: 'Error', message: 'over' }, over: true })
const STORIES: readonly [what: string, script: Partial<Completion>, status: number, event: string][] = [
  ['was refused something', { denials: REFUSED }, 200, 'isolate:denied'],
  ['is over its bytes', { frame: OVER }, 500, 'isolate:crash'],
  ['is none', { frame: toFrame({ status: 99 }) }, 502, 'isolate:crash'],
]

for (const [what, script, status, event] of STORIES) {
  Deno.test(`an answer that ${what} is told in the order of events, with the figures of its reset`, async () => {
    const { site, resets } = scripted(script)
    const answer = site.ask('/quick')
    await until('the request has its machine', () => resets.length > 0)
    resets[0].end('clean', 7, 8)
    assertEquals((await answer).status, status)
    assertEquals(told(site), [['isolate:complete', 7, 8], [event, 7, 8]])
    await site.close()
  })
}

testIsolated('every request is told once, with its run, its reset and the pages of it', async () => {
  const site = openSite('limits', { isolate: { vms: 2 } })
  const one = () => site.ask('/slow?ms=0').then(({ text }) => assertEquals(text, 'done'))
  try {
    await one()
    for (let i = 0; i < 40; i++) await one()
    await Promise.all(Array.from({ length: 40 }, one))
    await one()
  } finally {
    // The last reset may go on: the end of the machines waits for it.
    await site.close()
  }
  const events = completed(site)
  assertEquals(events.length, 82)
  for (const { resetMicros, runMicros, dirtyPages, exits } of events) {
    assert(resetMicros! > 0 && runMicros! > 0 && dirtyPages! > 0 && exits! > 0, JSON.stringify(events))
  }
})

testIsolated('the event of a sole request comes without another request', async () => {
  const site = openSite('limits')
  try {
    assertEquals((await site.ask('/quick')).text, 'done')
    await until('the event of the request', () => completed(site).length > 0)
    assertEquals(completed(site).length, 1)
  } finally {
    await site.close()
  }
})

function completed({ events }: Site) {
  return events.flatMap((event) => event.kind === 'isolate:complete' ? [event.metadata] : [])
}
