import { assert, assertEquals } from '@std/assert'
import type { LifecycleEvent } from '@mayfly/mayfly'
import { testCases, testSite } from './cases.ts'
import { exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

testCases('ctx.worker without a pool', defineSite(), [
  {
    name: 'is undefined, and the route answers 503',
    request: 'GET /work',
    status: 503,
    json: { error: 'no pool' },
  },
])

const events: LifecycleEvent[] = []
const pooled = defineSite({
  worker: {
    scriptURL: new URL('./fixture/worker.ts', import.meta.url),
    poolSize: 1,
    taskTimeoutMs: 2000,
    maxQueueDepth: 2,
  },
  setup: (router) => router.on('worker:*', (event) => void events.push(event)),
})

testCases('ctx.worker', pooled, [
  { name: 'runs a task', request: 'GET /work?value=21', status: 200, json: 42 },
  { name: 'a task that throws is 500', request: 'GET /work?kind=throw', status: 500, text: /^(?!.*SECRET)/s },
  { name: 'a task that hangs is 504', request: 'GET /work?kind=hang', status: 504 },
  { name: 'the next one gets a new worker', request: 'GET /work?value=4', status: 200, json: 8 },
  { name: 'a crash is 502', request: 'GET /work?kind=crash', status: 502 },
  { name: 'the one after a crash too', request: 'GET /work?value=5', status: 200, json: 10 },
])

testSite('ctx.worker: a full queue is 503 with Retry-After', pooled, async ({ address }) => {
  events.length = 0
  const all = await Promise.all(
    Array.from({ length: 8 }, () => exchange(address, toRequest('GET /work?kind=slow&value=1'))),
  )
  const statuses = all.map(([response]) => response.status).sort()
  assertEquals(new Set(statuses), new Set([200, 503]))
  assert(statuses.filter((status) => status === 200).length >= 2, statuses.join())
  for (const [response] of all) {
    if (response.status === 503) assert(/^\d+$/.test(response.headers.get('retry-after')?.[0] ?? ''))
  }
  const rejected = events.filter(({ kind }) => kind === 'worker:rejected')
  assertEquals(rejected.length, statuses.filter((status) => status === 503).length)
})
