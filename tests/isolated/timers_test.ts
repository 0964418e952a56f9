/** Timers that a warm-up leaves. */
import { assert, assertEquals } from '@std/assert'
import { openSite, RUNTIMES, testIn } from './fixture.ts'
import { until } from '../until.ts'

for (const runtime of RUNTIMES) {
  testIn(runtime)(
    'timers of the warm-up fire before the snapshot, and none of them in a request',
    async () => {
      const site = openSite('timers', { isolate: { vms: 1, runtime } })
      try {
        await site.ask('/left')
        await until(
          'the warm program',
          () =>
            site.events.some(({ kind, metadata }) =>
              kind === 'isolate:ready' && (metadata as { warm?: boolean }).warm !== false
            ),
        )
        for (let i = 0; i < 3; i++) {
          const { status, text } = await site.ask('/left?wait=100')
          assertEquals(status, 200, text)
          const { before, ...after } = JSON.parse(text)
          assert(before.sent > 1, `${before.sent} requests of the warm-up were collected and sent`)
          assertEquals([before.isScheduled, before.waiting], [false, 0])
          assertEquals(after, { sent: 1, ticks: 0, beats: true })
        }
        // Minutes in a request: the timers that a warm-up sets far ahead have ended too, and the request's own fires.
        const { text } = await site.ask('/left?wait=240000')
        assertEquals(JSON.parse(text).ticks, 1)
      } finally {
        await site.close()
      }
    },
  )
}
