/** `beforeSnapshot`, which a program calls behind its warm-up. */
import { assert, assertEquals, assertMatch } from '@std/assert'
import { openSite, RUNTIMES, type Site, testIn } from './fixture.ts'
import { errorsOf } from './worker_site.ts'

async function countOf(site: Site, path: string): Promise<number> {
  return JSON.parse((await site.ask(path)).text).requests
}

for (const runtime of RUNTIMES) {
  testIn(runtime)('what the warm-up left in a module stays unless the hook takes it back', async () => {
    const site = openSite('hook', { isolate: { vms: 1, runtime } })
    const told = await errorsOf(async () => {
      const answers = [await site.ask('/resets'), await site.ask('/resets')].map(({ text }) =>
        JSON.parse(text)
      )
      assertEquals(answers.map(({ requests }) => requests), [1, 1])
      assertMatch(answers[0].drawn, /^[\da-f-]{36}$/)
      assertEquals(answers[1].drawn, answers[0].drawn)
      const kept = await countOf(site, '/keeps')
      assert(kept > 2, `the warm-up has run, and left ${kept - 1} requests`)
      assertEquals(await countOf(site, '/keeps'), kept)
      for (const path of ['/throws', '/waits']) {
        assertEquals([await countOf(site, path), await countOf(site, path)], [1, 1], path)
      }
    })
    await site.close()
    const failures = told.filter((line) => line.includes('beforeSnapshot of')).sort()
    assertEquals(failures.length, 2, told.join('\n'))
    assertMatch(
      failures[0],
      /beforeSnapshot of .*throws\.ts failed: RangeError: cannot forget requests; it starts without a warm-up/,
    )
    assertMatch(
      failures[1],
      /beforeSnapshot of .*waits\.ts failed: TypeError: .*nothing will settle; it starts/,
    )
  })
}
