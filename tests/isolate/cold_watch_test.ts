import { assert, assertEquals } from '@std/assert'
import type { RequestState } from '../../src/context/state.ts'
import {
  type ColdFinding,
  type ColdWatch,
  createColdWatch,
  findCold,
  isNotable,
} from '../../src/isolate/machines/cold_watch.ts'
import { describeShape } from '../../src/isolate/warm/request_shape.ts'

/** What is looked at of a request. */
function toContext(path: string, init?: RequestInit): RequestState {
  const request = new Request(`http://localhost${path}`, init)
  const { pathname } = new URL(request.url)
  return { method: request.method, url: request.url, pathname, request } as RequestState
}

/** Runs requests of one kind through a watch, as `take` does; gives what is told. */
function ask(watch: ColdWatch, runs: readonly number[], path = '/a', init?: RequestInit): ColdFinding[] {
  const told: ColdFinding[] = []
  for (const runUs of runs) {
    const finding = isNotable(watch, runUs) ? findCold(watch, toContext(path, init), runUs) : null
    if (finding !== null) told.push(finding)
  }
  return told
}

const times = (count: number, runUs: number) => new Array(count).fill(runUs)
const trial = (shape: string, runUs: number) => ({ handler: 0, shape, warmUs: runUs, runUs })

Deno.test('a shape that stays slower than twice its trial is told once, with its quickest run', () => {
  const watch = createColdWatch('/a', false, [trial('GET /a', 100)])
  assertEquals(ask(watch, times(500, 260)), [])
  assertEquals(ask(watch, times(23, 900)), [])
  assertEquals(ask(watch, [700, 800], '/a?x=1&y=2'), [])
  const [{ shape, runUs, trialUs }, ...more] = ask(watch, [261, ...times(200, 900)])
  assertEquals([describeShape(shape), runUs, trialUs], ['GET /a', 261, 100])
  assertEquals(more, [])
  const body = {
    method: 'POST',
    body: 'x',
    headers: { 'content-length': '2000', 'content-type': 'Text/Plain; a=b' },
  }
  const [other] = ask(watch, times(24, 900), '/a?x=1&x=2&%C3%A4=secret', body)
  assertEquals(describeShape(other.shape), 'POST /a?%C3%A4&x, text/plain, body up to 16 KiB')
})

Deno.test('a busy host is nobody`s coldness: one quick request acquits a shape', () => {
  const watch = createColdWatch('/a', false, [trial('GET /a', 100)])
  for (let round = 0; round < 20; round++) {
    assertEquals(ask(watch, [...times(20, 900), 200]), [])
  }
})

Deno.test('quick requests of another shape acquit nobody', () => {
  const watch = createColdWatch('/a', false, [trial('GET /a', 100)])
  let told: ColdFinding[] = []
  for (let round = 0; round < 24; round++) {
    assertEquals(told, [])
    told = [...ask(watch, times(10, 90)), ...ask(watch, [900], '/a?cold')]
  }
  assertEquals(told.map(({ shape }) => describeShape(shape)), ['GET /a?cold'])
})

Deno.test('nothing is looked at while all is well, and a close watch ends', () => {
  const watch = createColdWatch('/a', false, [trial('GET /a', 100)])
  assert(!isNotable(watch, 260) && isNotable(watch, 261))
  ask(watch, times(8, 900), '/a?once')
  assert(isNotable(watch, 1))
  ask(watch, times(1001, 100))
  assert(!isNotable(watch, 1))
  assert(!isNotable(createColdWatch('/a', false, []), 1e9), 'without a trial there is no promise')
})

Deno.test('each shape is measured by its own trial, others by the longest', () => {
  const watch = createColdWatch('/a', false, [trial('GET /a', 100), trial('GET /a?all', 5000)])
  assertEquals(ask(watch, times(100, 10_000), '/a?all'), [])
  assertEquals(ask(watch, times(100, 10_000), '/a?some'), [])
  assertEquals(ask(watch, times(24, 10_000)).map(({ trialUs }) => trialUs), [100])
})

Deno.test('paths of an app are told apart, and not told', () => {
  const watch = createColdWatch('/app', true, [trial('GET /app/users/*', 100), trial('GET /app', 10)])
  assertEquals(ask(watch, times(100, 200), '/app/users/7'), [])
  const [{ shape, trialUs }] = ask(watch, times(24, 900), '/app/users/ann')
  assertEquals([describeShape(shape), trialUs], ['GET /app/*', 100])
})

Deno.test('what clients send fills no memory, and steers no log', () => {
  const watch = createColdWatch('/a', false, [trial('GET /a', 100)])
  let told = 0
  for (let i = 0; i < 300; i++) {
    const found = ask(watch, times(24, 900), `/a?${i}%1b%0a=${'x'.repeat(5000)}&${'y'.repeat(5000)}`)
    for (const { shape } of found) assert(/^[\x20-\x7e]{1,200}$/.test(describeShape(shape)))
    told += found.length
  }
  assertEquals([told, watch.told.size, watch.slow.size <= 64], [64, 64, true])
})
