import { assert, assertEquals } from '@std/assert'
import type { LifecycleEvent } from '@mayfly/mayfly'
import { createFeed, follow, isFull, record } from '../../routes/_lib/feed.ts'

function event(reason: string): LifecycleEvent {
  return { kind: 'auth:failed', timestamp: 1, metadata: { reason, ip: '192.0.2.1', username: 'eve' } }
}

Deno.test('record keeps the last sixty events and nothing that gives a visitor away', () => {
  const feed = createFeed()
  for (let i = 0; i < 100; i++) record(feed, event(`number ${i}`))
  assertEquals(feed.recent.length, 60)
  assertEquals(feed.recent[0].text, 'reason number 40')
  assertEquals(feed.counts.get('auth:failed'), 100)
  assert(!/192\.0\.2\.1|eve/.test(JSON.stringify(feed.recent)))
})

Deno.test('follow gives events as they come and ends with its signal', async () => {
  const feed = createFeed()
  const abort = new AbortController()
  const entries = follow(feed, () => true, abort.signal)
  const first = entries.next()
  record(feed, event('one'))
  assertEquals((await first).value?.text, 'reason one')
  const second = entries.next()
  abort.abort()
  assertEquals((await second).done, true)
  assertEquals(feed.readers.size, 0)
})

Deno.test('follow loses the oldest events of a reader that does not read', async () => {
  const feed = createFeed()
  const entries = follow(feed, ({ text }) => text !== 'reason skipped', new AbortController().signal)
  record(feed, event('skipped'))
  for (let i = 0; i < 250; i++) record(feed, event(`${i}`))
  assertEquals((await entries.next()).value?.text, 'reason 150')
  await entries.return?.()
  assertEquals((await entries.next()).done, true)
})

Deno.test('isFull holds at two hundred readers', () => {
  const feed = createFeed()
  const abort = new AbortController()
  for (let i = 0; i < 200; i++) {
    assertEquals(isFull(feed), false)
    follow(feed, () => true, abort.signal)
  }
  assertEquals(isFull(feed), true)
  abort.abort()
  assertEquals(isFull(feed), false)
})
