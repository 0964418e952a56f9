/** Limits, the queue, and what the machines tell. */
import { assert, assertEquals } from '@std/assert'
import { openSite, problemOf, type Runtime, RUNTIMES, testIn, testIsolated } from './fixture.ts'

for (const runtime of RUNTIMES) suite(runtime)

function suite(runtime: Runtime): void {
  const test = testIn(runtime)

  test('each route has its own time, or that of the router', async () => {
    const site = openSite('limits', { isolate: { runtime, vms: 1, timeoutMs: 2500 } })
    try {
      for (const path of ['/quick', '/slow', '/default']) {
        assertEquals((await site.ask(`${path}?ms=0`)).status, 200, path)
      }
      for (const path of ['/quick', '/default', '/slow']) {
        assertEquals((await site.ask(`${path}?ms=60000`)).status, 504, path)
      }
      const told = site.events.filter(({ kind }) => kind === 'isolate:timeout')
      const limits = told.map(({ metadata }) => (metadata as { limit: number }).limit)
      assertEquals(limits, [1000, 2500, 5000])
      const boots = site.events.filter(({ kind }) => kind === 'isolate:boot' || kind === 'isolate:ready')
      assertEquals(boots.length, 6, 'three programs')
    } finally {
      await site.close()
    }
  })

  test('a full queue is 503 with Retry-After, and what waits is answered', async () => {
    const site = openSite('limits', { isolate: { runtime, vms: 1, queue: 4 } })
    try {
      assertEquals((await site.ask('/slow?ms=0')).text, 'done')
      const answers = await Promise.all(Array.from({ length: 12 }, () => site.ask('/slow?ms=200')))
      const right = answers.filter(({ status, text }) => status === 200 && text === 'done')
      const refused = answers.filter(({ status }) => status === 503)
      assertEquals(right.length + refused.length, 12)
      assert(right.length >= 4 && refused.length >= 6, `${right.length} answered, ${refused.length} refused`)
      for (const { headers } of refused) assertEquals(headers.get('retry-after'), '1')
      const told = site.events.filter(({ kind }) => kind === 'isolate:rejected')
      assertEquals(told.length, refused.length)
      const busy = Array.from({ length: 8 }, () => site.ask('/slow?ms=200'))
      assertEquals(await problemOf(site, '/slow?ms=1'), { status: 503, type: 'isolation-queue-full' })
      await Promise.all(busy)
      assertEquals((await site.ask('/slow?ms=0')).text, 'done')
    } finally {
      await site.close()
    }
  })

  test('a loop in one machine does not hold up the other', async () => {
    const site = openSite('limits', { isolate: { runtime, vms: 2 } })
    try {
      assertEquals((await site.ask('/slow?ms=0')).status, 200)
      let over = false
      const loop = site.ask('/slow?ms=10000').then((answer) => {
        over = true
        return answer
      })
      for (let i = 0; i < 20; i++) assertEquals((await site.ask('/slow?ms=0')).text, 'done')
      assert(!over, 'the other machine answered meanwhile')
      assertEquals((await loop).status, 504)
    } finally {
      await site.close()
    }
  })

  test('close waits for what is under way, and the router serves anew', async () => {
    const site = openSite('limits', { isolate: { runtime, vms: 1 } })
    try {
      assertEquals((await site.ask('/quick')).text, 'done')
      assertEquals((await site.ask('/slow?ms=0')).text, 'done')
      const pending = site.ask('/slow?ms=100')
      await new Promise((resolve) => setTimeout(resolve, 20))
      await site.close()
      assertEquals((await pending).text, 'done')
      assertEquals((await site.ask('/quick')).text, 'done')
    } finally {
      await site.close()
    }
  })

  test('events of misdeeds say of what kind they are', async () => {
    const site = openSite('hostile', { isolate: { runtime, vms: 1 } })
    try {
      for (const path of ['/do?what=loop', '/eat?what=buffers', '/do?what=throw_in_timer']) {
        await site.ask(path)
      }
      const kinds = site.events.map(({ kind }) => kind)
      for (const kind of ['isolate:timeout', 'isolate:memory', 'isolate:crash'] as const) {
        assertEquals(kinds.filter((each) => each === kind).length, 1, kind)
      }
      assertEquals(kinds.filter((kind) => kind === 'isolate:complete').length, 3)
    } finally {
      await site.close()
    }
  })
}

testIsolated(
  'handlers that end their warm-up, or do not end it, start cold and leave the others at work',
  async () => {
    const site = openSite('cold', { isolate: { vms: 1, timeoutMs: 3000 } })
    try {
      for (let i = 0; i < 2; i++) {
        assertEquals((await site.ask('/fine')).text, 'fine')
        assertEquals(await problemOf(site, '/exit'), { status: 502, type: 'isolation-crash' })
        assertEquals((await site.ask('/loop')).text, 'looped')
        // The requests beside the one that ended it warmed it up.
        assertEquals((await site.ask('/picky')).text, 'warmed up true')
      }
    } finally {
      await site.close()
    }
  },
)

Deno.test('isolate: false refuses isolated routes with 503 and serves the others', async () => {
  const site = openSite('context', { isolate: false })
  try {
    const answer = await site.ask('/users/1', { headers: { accept: 'application/problem+json' } })
    assertEquals(answer.status, 503)
    assertEquals(JSON.parse(answer.text).type, 'isolation-unavailable')
    assert(Number(answer.headers.get('retry-after')) > 0)
    assertEquals((await site.ask('/plain')).text, 'plain')
    assertEquals((await site.ask('/app/hello')).status, 503)
    assertEquals((await site.ask('/nowhere')).status, 404)
  } finally {
    await site.close()
  }
})
