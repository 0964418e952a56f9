/** What a warm-up leaves in a program is told where answers show it. */
import { assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { deadline } from '@std/async'
import { openSite, RUNTIMES, testIn } from './fixture.ts'
import { errorsOf } from './worker_site.ts'

for (const runtime of RUNTIMES) {
  testIn(runtime)('a handler that answers with what its warm-up left is named, and the hook', async () => {
    const site = openSite('residue', { isolate: { vms: 1, runtime } })
    const over = Promise.withResolvers<void>()
    let programs = 0
    site.router.on('isolate:boot', () => void programs++)
    site.router.on('isolate:residue', () => void (--programs === 0 && over.resolve()))
    const lines = await errorsOf(async () => {
      assertStringIncludes((await site.ask('/first?id=user')).text, '927687')
      assertEquals((await site.ask('/fixed?id=user')).text, '{"first":"user"}')
      assertEquals((await site.ask('/clean?id=user')).status, 200)
      assertEquals((await site.ask('/throws')).status, 500)
      await deadline(over.promise, 300_000)
    })
    const told = lines.filter((line) => line.includes('beforeSnapshot'))
    await site.close()
    assertEquals(told.length, 1, lines.join('\n'))
    assertMatch(told[0], /^mayfly: GET .*first\.ts: the answers show what the warm-up's requests left/)
  })
}
