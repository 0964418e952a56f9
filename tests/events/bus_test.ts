import { assert, assertEquals, assertFalse, assertThrows } from '@std/assert'
import { createBus, emit, subscribe, wants } from '../../src/events/bus.ts'
import { LIFECYCLE_KINDS, type LifecycleEvent } from '../../src/events/kinds.ts'

const ROUTE = { file: 'routes/a.ts', pattern: '/a' }

Deno.test('subscribe delivers every kind, one kind or one namespace', () => {
  const bus = createBus()
  const seen: string[] = []
  subscribe(bus, '*', ({ kind }) => void seen.push(`all ${kind}`))
  subscribe(bus, 'route:loaded', ({ kind }) => void seen.push(`one ${kind}`))
  subscribe(bus, 'route:*', ({ kind }) => void seen.push(`ns ${kind}`))
  emit(bus, 'route:loaded', ROUTE)
  emit(bus, 'route:removed', ROUTE)
  emit(bus, 'server:listening', { hostname: '::', port: 1 })
  assertEquals(seen, [
    'all route:loaded',
    'one route:loaded',
    'ns route:loaded',
    'all route:removed',
    'ns route:removed',
    'all server:listening',
  ])
})

Deno.test('subscribe refuses a pattern that names no event', () => {
  const bus = createBus()
  assertThrows(() => subscribe(bus, 'rout:*', () => {}), TypeError, 'rout:*')
  assertThrows(() => subscribe(bus, 'route:lost' as '*', () => {}), TypeError, 'route:lost')
  assertThrows(() => subscribe(bus, 'route' as '*', () => {}), TypeError, 'no such event')
  assertThrows(() => subscribe(bus, '*', 1 as never), TypeError, 'want a function')
  assert(LIFECYCLE_KINDS.every((kind) => !wants(bus, kind)))
})

Deno.test('unsubscribe is idempotent and leaves the others alone', () => {
  const bus = createBus()
  let calls = 0
  const listener = () => void calls++
  const first = subscribe(bus, '*', listener)
  subscribe(bus, '*', listener)
  emit(bus, 'route:loaded', ROUTE)
  first()
  first()
  emit(bus, 'route:loaded', ROUTE)
  assertEquals(calls, 3)
})

Deno.test('wants follows the listeners', () => {
  const bus = createBus()
  assertFalse(wants(bus, 'request:complete'))
  const off = subscribe(bus, 'request:*', () => {})
  assert(wants(bus, 'request:complete'))
  assert(wants(bus, 'request:error'))
  assertFalse(wants(bus, 'route:error'))
  off()
  assertFalse(wants(bus, 'request:complete'))
})

Deno.test('emit dispatches over a snapshot: who comes or goes meanwhile counts from the next event', () => {
  const bus = createBus()
  const seen: string[] = []
  let late: (() => void) | undefined
  const off = subscribe(bus, '*', () => {
    seen.push('first')
    off()
    late ??= subscribe(bus, '*', () => void seen.push('late'))
  })
  subscribe(bus, '*', () => void seen.push('second'))
  emit(bus, 'route:loaded', ROUTE)
  assertEquals(seen, ['first', 'second'])
  emit(bus, 'route:loaded', ROUTE)
  assertEquals(seen, ['first', 'second', 'second', 'late'])
})

Deno.test('emit gives kind, metadata and the time in milliseconds', () => {
  const bus = createBus()
  const events: LifecycleEvent[] = []
  subscribe(bus, '*', (event) => void events.push(event))
  const before = Date.now()
  emit(bus, 'route:loaded', ROUTE)
  assertEquals(events.length, 1)
  assertEquals(events[0].kind, 'route:loaded')
  assertEquals(events[0].metadata, ROUTE)
  assert(events[0].timestamp >= before && events[0].timestamp <= Date.now())
})

Deno.test('a listener that throws or rejects is reported once and stops nobody', async () => {
  const bus = createBus()
  const reports: unknown[][] = []
  const { error } = console
  console.error = (...args) => void reports.push(args)
  try {
    let reached = 0
    subscribe(bus, '*', function thrower() {
      throw new Error('thrown')
    })
    subscribe(bus, '*', () => Promise.reject(new Error('rejected')))
    subscribe(bus, '*', () => void reached++)
    emit(bus, 'route:loaded', ROUTE)
    emit(bus, 'route:loaded', ROUTE)
    await new Promise((resolve) => setTimeout(resolve, 0))
    assertEquals(reached, 2)
    assertEquals(reports.length, 2)
    assert(String(reports[0][0]).includes('thrower'))
    assertEquals(reports.map(([, cause]) => (cause as Error).message), ['thrown', 'rejected'])
  } finally {
    console.error = error
  }
})

Deno.test('emit without a listener reads no clock', () => {
  const bus = createBus()
  const { now } = Date
  Date.now = () => {
    throw new Error('a clock was read')
  }
  try {
    for (const kind of LIFECYCLE_KINDS) emit(bus, kind, ROUTE as never)
  } finally {
    Date.now = now
  }
})
